import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AttemptId, RunId, SpawnBudget, StepId, TreeId, Usage } from "#kernel";
import { type Ask, type Begin, Ledger, type LedgerState, TenantLedger, type TenantState } from "#ledger";

const numRuns = Number(process.env["REEVE_PROPERTY_RUNS"] ?? 1000);
const price = { input: 1_000_000, output: 3_000_000 };

/** Trees of one tenant, each with calls in flight, and a bill that counts for all of them. */
class Tenant {
  tenant: TenantState;
  readonly bill = { tokens: 0, cost: 0 };
  readonly #trees = new Map<number, { state: LedgerState; root: RunId; id: TreeId }>();
  readonly #open: { tree: number; attempt: AttemptId; output: number; input: number }[] = [];
  #count = 0;

  constructor(maxTokens: number, maxCost: number) {
    this.tenant = TenantLedger.limit(null, { maxTokens, maxCost });
  }

  call(tree: number, size: number, at: number): void {
    this.#count += 1;
    const { root } = this.#tree(tree, at);
    const attempt = AttemptId.of(`attempt-${this.#count}`);
    const sizes = { inputTokens: size, outputTokens: size * 2, minOutputTokens: 1 };
    const ask: Ask = { ...sizes, price, unpriced: "refuse", landing: false };
    const step = StepId.of(root, "llm", this.#count);
    const begin = { run: root, step, attempt, epoch: "", ask, rerun: false, at };
    let gate = this.#begin(tree, { ...begin, blockIsFinal: false });
    if (gate.kind === "needs-block") {
      this.#draw(tree, gate, at);
      gate = this.#begin(tree, { ...begin, blockIsFinal: true });
    }
    if (gate.kind === "granted") {
      this.#open.push({ tree, attempt, output: gate.outputTokens, input: size });
    }
  }

  /** The call of a tree that has been open longest ends. Every fifth time nobody hears of it. */
  end(tree: number, luck: number): void {
    const index = this.#open.findIndex((call) => call.tree === tree);
    const [call] = index === -1 ? [] : this.#open.splice(index, 1);
    const entry = this.#trees.get(tree);
    if (!call || !entry) return;
    const usage = { input: call.input, output: luck % 2 === 0 ? call.output : Math.floor(call.output / 2) };
    this.bill.tokens += Usage.tokens(usage);
    this.bill.cost += Usage.cost(usage, price);
    const { root: run } = entry;
    const known = luck % 5 === 0 ? null : usage;
    entry.state = Ledger.settle(entry.state, { run, attempt: call.attempt, usage: known, at: 0 }).state;
  }

  giveBack(tree: number, at: number, isOver: boolean): void {
    const entry = this.#trees.get(tree);
    if (!entry || (isOver && this.#open.some((call) => call.tree === tree))) return;
    const { state, decision } = Ledger.giveBack(entry.state);
    entry.state = state;
    const spend = Ledger.spend(state.tree.account);
    const spent = isOver
      ? { spentTokens: spend.tokens, spentCost: spend.cost }
      : { spentTokens: 0, spentCost: 0 };
    this.tenant = TenantLedger.giveBack(this.tenant, { tree: entry.id, ...decision, ...spent, at }).state;
    if (isOver) this.#trees.delete(tree);
  }

  check(): void {
    const { maxTokens, maxCost, spent, lent } = this.tenant;
    const loans = Object.values(lent);
    const tokens = loans.reduce((sum, loan) => sum + loan.tokens, spent.tokens);
    const cost = loans.reduce((sum, loan) => sum + loan.cost, spent.cost);
    const isWithin = tokens <= (maxTokens ?? 0) && cost <= (maxCost ?? 0);
    const isCovered = this.bill.tokens <= tokens && this.bill.cost <= cost;
    if (!isWithin || !isCovered) throw new Error(JSON.stringify({ tenant: this.tenant, bill: this.bill }));
  }

  #tree(tree: number, at: number) {
    const id = TreeId.of(`t${tree}-${this.#count}`);
    const root = RunId.root(id);
    const known = this.#trees.get(tree);
    if (known) return known;
    const spawn = SpawnBudget.of();
    const opening = { root, priority: "normal", spawn, treeBudget: {}, rootBudget: {}, at } as const;
    const entry = { id, root, state: Ledger.open({ ...opening, block: { tokens: 0, cost: 0 } }) };
    this.#trees.set(tree, entry);
    return entry;
  }

  #begin(tree: number, command: Begin) {
    const entry = this.#tree(tree, command.at);
    const { state, decision } = Ledger.begin(entry.state, command);
    entry.state = state;
    return decision;
  }

  #draw(tree: number, { tokens, cost }: { tokens: number; cost: number }, at: number): void {
    const entry = this.#tree(tree, at);
    const drawn = TenantLedger.draw(this.tenant, { tree: entry.id, tokens, cost, at });
    this.tenant = drawn.state;
    entry.state = Ledger.lend(entry.state, drawn.decision).state;
  }
}

const manyRuns = { timeout: 600_000 };

test("9.1 all trees of a tenant together never spend, nor hold, more than its limit", manyRuns, () => {
  const moves = fc.noBias(fc.tuple(fc.nat(9), fc.nat(3), fc.integer({ min: 1, max: 400 })));
  const cap = fc.noBias(fc.nat(10_000));
  const property = fc.property(
    cap,
    cap,
    fc.array(moves, { maxLength: 60, size: "max" }),
    (tokens, cost, all) => {
      const tenant = new Tenant(tokens, cost * 2);
      all.forEach(([kind, tree, size], at) => {
        if (kind < 5) tenant.call(tree, size, at);
        else if (kind < 8) tenant.end(tree, size);
        else tenant.giveBack(tree, at, kind === 9);
        tenant.check();
      });
    },
  );
  expect(() => fc.assert(property, { numRuns })).not.toThrow();
});
