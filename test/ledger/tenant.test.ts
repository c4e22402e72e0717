import { expect, test } from "vitest";
import {
  TenantLedger,
  type BudgetLimits,
  type BudgetPeriod,
  type QuotaRequest,
  type QuotaResult,
  type TenantState,
} from "#ledger";
import { deepFreeze } from "./tree.ts";

const none = { tokens: 0, costMicros: 0 };
const day = 86_400_000;
const noon = Date.UTC(2026, 10, 15, 12);

/** A tenant with budgets, and the trees that borrow from it. */
class Office {
  accounts: TenantState["accounts"];
  readonly #loans = new Map<string, TenantState["loan"]>();

  constructor(...limits: readonly Partial<BudgetLimits>[]) {
    const whole = { maxTokens: null, maxCostMicros: null, per: "day" } as const;
    this.accounts = limits.map((each) => TenantLedger.setBudget(null, { ...whole, ...each }, noon));
  }

  draw(tree: string, tokens: number, more: Partial<QuotaRequest> = {}): QuotaResult {
    const command = { tokens, costMicros: 0, used: none, renews: false, mayWait: false, at: noon, ...more };
    const { state, decision } = TenantLedger.requestQuota(this.#state(tree), command);
    this.#keep(tree, state);
    return decision;
  }

  /** Returns the tokens a tree gets. */
  tokens(tree: string, tokens: number, more: Partial<QuotaRequest> = {}): number | null {
    const drawn = this.draw(tree, tokens, more);
    if (drawn === "short") throw new Error("short");
    return drawn.tokens;
  }

  close(tree: string, tokens: number): void {
    this.#keep(tree, TenantLedger.close(this.#state(tree), { tokens, costMicros: 0 }));
  }

  correct(leasedAt: number, tokens: number): void {
    const state = { accounts: this.accounts, loan: null };
    this.accounts = TenantLedger.correct(state, { leasedAt, tokens, costMicros: 0 }).accounts;
  }

  get sums(): readonly (readonly [number, number])[] {
    return this.accounts.map(({ spent, lent }) => [spent.tokens, lent.tokens] as const);
  }

  #state(tree: string): TenantState {
    return deepFreeze({ accounts: this.accounts, loan: this.#loans.get(tree) ?? null });
  }

  #keep(tree: string, { accounts, loan }: TenantState): void {
    this.accounts = accounts;
    this.#loans.set(tree, loan);
  }
}

test("9.1 a tenant lends a sixteenth of its limit, or as much more as is asked for", () => {
  const office = new Office({ maxTokens: 1_600, maxCostMicros: 3_200 });
  const lease = { leasedAt: noon, until: noon + 60_000, adds: false };
  expect(office.draw("a", 10, { costMicros: 500 })).toMatchObject({ tokens: 100, costMicros: 500, ...lease });
  expect(office.draw("a", 300)).toMatchObject({ tokens: 300, costMicros: 200, adds: true });
});

test("9.1 leases and spend together never exceed the limit", () => {
  const office = new Office({ maxTokens: 1_600 });
  expect(office.tokens("a", 1_550)).toBe(1_550);
  expect([office.tokens("b", 80), office.tokens("c", 1)]).toEqual([50, 0]);
  office.close("a", 1_000);
  expect(office.sums).toEqual([[1_000, 50]]);
  expect(office.tokens("c", 9_999)).toBe(550);
});

test("9.1 calls over their ceilings leave less for other trees", () => {
  const office = new Office({ maxTokens: 1_600 });
  office.draw("a", 100);
  office.close("a", 1_500);
  expect(office.tokens("b", 999)).toBe(100);
});

test("9.1 a short draw lends nothing while other trees hold the missing amount, and closes the tree's lease", () => {
  const office = new Office({ maxTokens: 1_600 });
  office.draw("a", 800);
  office.draw("b", 700);
  expect(office.draw("b", 300, { mayWait: true, used: { tokens: 50, costMicros: 0 } })).toBe("short");
  expect(office.sums).toEqual([[50, 800]]);
  office.close("a", 0);
  expect(office.tokens("b", 300, { mayWait: true })).toBe(300);
});

test("9.1 if no other tree holds anything, a short draw gets the rest at once", () => {
  const office = new Office({ maxTokens: 1_600 });
  office.draw("a", 900);
  expect(office.draw("a", 800, { mayWait: true })).toMatchObject({ tokens: 700, adds: true });
});

test("9.1 a user's budget and the tenant's both count", () => {
  const office = new Office({ maxTokens: 1_600 }, { maxTokens: 160, maxCostMicros: 32 });
  expect(office.draw("a", 100)).toMatchObject({ tokens: 100, costMicros: 2 });
  expect(office.tokens("b", 100)).toBe(60);
  office.close("a", 30);
  expect(office.sums).toEqual([
    [30, 60],
    [30, 60],
  ]);
});

test("9.1 a dimension without a limit is lent without one, and without any budget nothing is counted", () => {
  expect(new Office({ maxTokens: 16 }).draw("a", 1)).toMatchObject({ tokens: 1, costMicros: null });
  const free = new Office().draw("a", 1);
  expect(free).toMatchObject({
    tokens: null,
    costMicros: null,
    leasedAt: 0,
    until: noon + 60_000,
    adds: false,
  });
});

test("9.1 a day's budget starts over at midnight of UTC, and a month's on its first day", () => {
  const office = new Office({ maxTokens: 100, per: "day" }, { maxTokens: 100, per: "month" });
  expect(office.accounts.map(({ until }) => until)).toEqual([Date.UTC(2026, 10, 16), Date.UTC(2026, 11, 1)]);
  office.draw("a", 60);
  office.close("a", 60);
  expect(office.tokens("a", 100, { at: noon + day })).toBe(40);
  office.close("a", 40);
  expect(office.tokens("a", 100, { at: noon + 20 * day })).toBe(100);
});

test("9.1 a lease ends with its window, and its usage is counted there", () => {
  const office = new Office({ maxTokens: 100 });
  const edge = Date.UTC(2026, 10, 16);
  expect(office.draw("a", 100, { at: edge - 1_000 })).toMatchObject({ until: edge });
  // The tree has not looked at the time yet.
  expect(office.draw("a", 50, { at: edge, used: { tokens: 90, costMicros: 0 } })).toMatchObject({
    tokens: 50,
    leasedAt: edge,
    adds: false,
  });
  expect(office.sums).toEqual([[0, 50]]);
  office.correct(edge - 1_000, -80);
  expect(office.sums).toEqual([[0, 50]]);
});

test("9.1 a call of a closed lease that came to something else is corrected in its window", () => {
  const office = new Office({ maxTokens: 100 });
  office.draw("a", 80);
  office.close("a", 80);
  office.correct(noon, -70);
  expect(office.tokens("b", 100)).toBe(90);
});

test("9.1 a budget that is set while a tree has a lease counts from the tree's next lease on", () => {
  const office = new Office({ maxTokens: 1_600 });
  office.draw("a", 500);
  const later = noon + 1_000;
  const users = TenantLedger.setBudget(null, { maxTokens: 100, maxCostMicros: null, per: "ever" }, later);
  office.accounts = [...office.accounts, users];
  expect(office.tokens("a", 50, { at: later, used: { tokens: 400, costMicros: 0 } })).toBe(50);
  expect(office.sums).toEqual([
    [400, 50],
    [0, 50],
  ]);
});

test("9.1 a changed limit and a longer period keep leases and spend; a shorter period starts a new count", () => {
  const limits = { maxTokens: 1_600, maxCostMicros: null, per: "day" } as const;
  const office = new Office(limits);
  office.draw("a", 100);
  office.close("a", 100);
  office.draw("b", 100);
  const [account] = office.accounts;
  if (!account) throw new Error("there is one");
  office.accounts = [TenantLedger.setBudget(account, { ...limits, maxTokens: 50 }, noon)];
  expect(office.sums).toEqual([[100, 100]]);
  expect(office.tokens("c", 1)).toBe(0);
  const change = (per: BudgetPeriod, at: number): void => {
    office.accounts = office.accounts.map((each) => TenantLedger.setBudget(each, { ...limits, per }, at));
  };
  change("month", noon);
  expect(office.sums).toEqual([[100, 100]]);
  // All of it is of today.
  change("day", noon);
  expect(office.sums).toEqual([[100, 100]]);
  change("ever", noon);
  expect(office.sums).toEqual([[100, 100]]);
  change("day", noon + 86_400_000);
  expect(office.sums).toEqual([[0, 100]]);
});

test("9.1 a lease names the budget with the least left, and the amount other trees hold of it", () => {
  const limits = { maxCostMicros: null, per: "ever" } as const;
  const account = (maxTokens: number) => TenantLedger.setBudget(null, { maxTokens, ...limits }, noon);
  const accounts = [account(1_600), account(160)];
  const draw = { tokens: 100, costMicros: 0, used: none, renews: false, mayWait: false, at: noon };
  const owners = ["tenant", "user"] as const;
  const first = TenantLedger.requestQuota({ accounts, owners, loan: null }, draw);
  expect(first.decision).toMatchObject({
    limits: { tokens: { account: "user", limit: 160, spent: 0, reserved: 0 }, costMicros: null },
  });
  const other = TenantLedger.requestQuota({ ...first.state, owners, loan: null }, draw);
  expect(other.decision).toMatchObject({
    tokens: 60,
    limits: { tokens: { account: "user", limit: 160, spent: 0, reserved: 100 } },
  });
  const again = TenantLedger.requestQuota({ ...first.state, owners }, { ...draw, tokens: 20 });
  expect(again.decision).toMatchObject({ adds: true, limits: { tokens: { reserved: 0 } } });
});
