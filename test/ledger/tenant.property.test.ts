import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AttemptId, RunId, SpawnBudget, StepId, TreeId, Usage } from "#kernel";
import {
  type ReservationRequest,
  type Begin,
  type BudgetAccount,
  type DecisionResult,
  Ledger,
  type LedgerState,
  type Loan,
  TenantLedger,
} from "#ledger";
import { propertyRuns } from "../effort.ts";

const numRuns = propertyRuns(1000);
const price = { input: 1_000_000, output: 3_000_000 };

interface Entry {
  state: LedgerState;
  loan: Loan | null;
  readonly root: RunId;
}

interface Call {
  readonly entry: Entry;
  readonly attempt: AttemptId;
  readonly input: number;
  readonly output: number;
  /** The window of the lease that it was reserved under. */
  readonly window: number;
}

const day = 86_400_000;
const windowOf = (at: number): number => Math.floor(at / day);

/** Trees of one tenant, each with calls in flight, and a bill for each day that counts for all of them. */
class Tenant {
  account: BudgetAccount;
  readonly #bills = new Map<number, { tokens: number; costMicros: number }>();
  readonly #trees = new Map<number, Entry>();
  readonly #open: Call[] = [];
  readonly #lost: { readonly call: Call; readonly usage: Usage }[] = [];
  #count = 0;

  constructor(maxTokens: number, maxCostMicros: number) {
    this.account = TenantLedger.setBudget(null, { maxTokens, maxCostMicros, per: "day" }, 0);
  }

  call(tree: number, size: number, at: number): void {
    this.#count += 1;
    const entry = this.#tree(tree, at);
    const { root } = entry;
    const attempt = AttemptId.of(`attempt-${this.#count}`);
    const sizes = { inputTokens: size, outputTokens: size * 2, minOutputTokens: 1 };
    const ask: ReservationRequest = { ...sizes, price, unpriced: "refuse", landing: false };
    const step = StepId.of(root, "llm", this.#count);
    const begin = { run: root, step, attempt, epoch: { id: "", order: null }, ask, rerun: false, at };
    let gate = this.#begin(entry, { ...begin, leaseIsFinal: false });
    for (let draws = 1; gate.kind === "needs-lease"; draws++) {
      const adds = this.#draw(entry, gate, { at, mayWait: size % 2 === 0 });
      if (adds === null) return;
      gate = this.#begin(entry, { ...begin, leaseIsFinal: adds || draws > 1 });
    }
    if (gate.kind !== "granted") return;
    const window = windowOf(entry.state.tree.lease?.leasedAt ?? 0);
    this.#open.push({ entry, attempt, output: gate.outputTokens, input: size, window });
  }

  /** The call of a tree that has been open longest ends. Every fifth time its worker is lost. */
  end(tree: number, luck: number): void {
    const entry = this.#trees.get(tree);
    const index = this.#open.findIndex((call) => call.entry === entry);
    const [call] = index === -1 ? [] : this.#open.splice(index, 1);
    if (!call || !entry) return;
    const { input, output } = call;
    const usage = { input, output: luck % 2 === 0 ? output : Math.floor(output / 2) };
    const bill = this.#bills.get(call.window) ?? { tokens: 0, costMicros: 0 };
    this.#bills.set(call.window, {
      tokens: bill.tokens + Usage.tokens(usage),
      costMicros: bill.costMicros + Usage.cost(usage, price),
    });
    const isLost = luck % 5 === 0;
    if (isLost) this.#lost.push({ call, usage });
    const known = { run: entry.root, attempt: call.attempt, usage: isLost ? null : usage, at: 0 };
    this.#take(entry, Ledger.settle(entry.state, known));
  }

  /** Reports the bill of a lost call, whether or not its tree has ended. */
  reconcile(luck: number): void {
    const [lost] = this.#lost.splice(luck % Math.max(1, this.#lost.length), 1);
    if (!lost) return;
    const { call, usage } = lost;
    this.#take(call.entry, Ledger.reconcile(call.entry.state, { attempt: call.attempt, usage }));
  }

  /** Returns the unused quota: all of it, or with calls in flight as for a recall. */
  close(tree: number, isOver: boolean): void {
    const entry = this.#trees.get(tree);
    if (!entry || (isOver && this.#open.some((call) => call.entry === entry))) return;
    const { decision, state } = isOver ? Ledger.returnQuota(entry.state) : Ledger.shrink(entry.state);
    entry.state = state;
    const give = isOver ? TenantLedger.close : TenantLedger.shrink;
    if (decision) this.#put(entry, give(this.#stateOf(entry), decision.used));
    if (isOver) this.#trees.delete(tree);
  }

  check(): void {
    const { maxTokens, maxCostMicros: maxCost, spent, lent, from } = this.account;
    const [tokens, cost] = [spent.tokens + lent.tokens, spent.costMicros + lent.costMicros];
    const isWithin = tokens <= (maxTokens ?? 0) && cost <= (maxCost ?? 0);
    const current = this.#bills.get(windowOf(from)) ?? { tokens: 0, costMicros: 0 };
    const isCovered = current.tokens <= tokens && current.costMicros <= cost;
    const areWithin = [...this.#bills.values()].every(
      (bill) => bill.tokens <= (maxTokens ?? 0) && bill.costMicros <= (maxCost ?? 0),
    );
    if (isWithin && isCovered && areWithin) return;
    throw new Error(JSON.stringify({ account: this.account, bills: [...this.#bills] }));
  }

  #tree(tree: number, at: number): Entry {
    const known = this.#trees.get(tree);
    if (known) return known;
    const root = RunId.root(TreeId.of(`t${tree}-${this.#count}`));
    const spawn = SpawnBudget.of();
    const opening = { root, priority: "normal", spawn, treeBudget: {}, rootBudget: {}, at } as const;
    const entry: Entry = { root, loan: null, state: Ledger.open({ ...opening, lease: Ledger.noLease }) };
    this.#trees.set(tree, entry);
    return entry;
  }

  #begin(entry: Entry, command: Begin) {
    return this.#take(entry, Ledger.begin(entry.state, command));
  }

  #take<Decision>(entry: Entry, { state, decision, effects }: DecisionResult<Decision>): Decision {
    entry.state = state;
    for (const effect of effects)
      if (effect.kind === "correct") this.#put(entry, TenantLedger.correct(this.#stateOf(entry), effect));
    return decision;
  }

  /** Whether it was added to the lease; null: short. */
  #draw(
    entry: Entry,
    need: { readonly tokens: number; readonly costMicros: number },
    { at, mayWait }: { readonly at: number; readonly mayWait: boolean },
  ): boolean | null {
    const { tokens, costMicros } = need;
    const lease = entry.state.tree.lease ?? Ledger.noLease;
    const figures = { tokens, costMicros, used: lease.used, renews: at >= lease.until, mayWait };
    // The tenant's clock is up to half an hour ahead of the tree's.
    const drawn = TenantLedger.requestQuota(this.#stateOf(entry), {
      ...figures,
      at: at + (tokens % 1_800) * 1_000,
    });
    this.#put(entry, drawn.state);
    if (drawn.decision === "short") {
      entry.state = Ledger.returnQuota(entry.state).state;
      return null;
    }
    entry.state = Ledger.grantQuota(entry.state, drawn.decision).state;
    return drawn.decision.adds;
  }

  #stateOf({ loan }: Entry) {
    return { accounts: [this.account], loan };
  }

  #put(entry: Entry, { accounts: [account], loan }: ReturnType<typeof TenantLedger.close>): void {
    this.account = account ?? this.account;
    entry.loan = loan;
  }
}

test("9.1 all trees of a tenant together never spend or hold more than a day's limit", () => {
  const moves = fc.noBias(fc.tuple(fc.nat(11), fc.nat(3), fc.integer({ min: 1, max: 400 })));
  const cap = fc.noBias(fc.nat(10_000));
  const property = fc.property(
    cap,
    cap,
    fc.array(moves, { maxLength: 60, size: "max" }),
    (tokens, cost, all) => {
      const tenant = new Tenant(tokens, cost * 2);
      let at = 0;
      for (const [kind, tree, size] of all) {
        // Mostly within a lease; now and then hours pass.
        at += size % 7 === 0 ? size * 100_000 : size * 10;
        if (kind < 5) tenant.call(tree, size, at);
        else if (kind < 8) tenant.end(tree, size);
        else if (kind === 8) tenant.reconcile(size);
        else tenant.close(tree, kind === 9);
        tenant.check();
      }
    },
  );
  expect(() => fc.assert(property, { numRuns })).not.toThrow();
});
