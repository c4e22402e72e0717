import { type ExecutionBudget, Money, type RunId, SpawnBudget, StepId, Usage } from "#kernel";
import { type Account, type Amounts, Ledger, type LedgerState } from "#ledger";
import { type Bank, type Call, nth, runsOf, type Scenario } from "./market.ts";
import { attempt, root } from "./tree.ts";

/** The ledger: reserves first. Beside it an own count of what must be booked on every account. */
export class LedgerBank implements Bank {
  #state: LedgerState;
  readonly #ceilings = new Map<string, Amounts>();
  readonly #booked = new Map<RunId | null, Amounts>();
  readonly #parents: ReadonlyMap<RunId, RunId>;
  readonly #steps = new Map<RunId, Set<number>>();
  #touched: readonly (RunId | null)[] = [];

  constructor(scenario: Scenario) {
    const { treeBudget, budgets } = scenario;
    const spawn = SpawnBudget.of({ maxAgents: 50 });
    const opening = { root, priority: "normal", spawn, treeBudget, rootBudget: budgets[0] ?? {} } as const;
    this.#parents = new Map(runsOf(scenario));
    this.#state = Ledger.open({ ...opening, lease: null, at: 0 });
    runsOf(scenario).forEach(([run, parent], index) => {
      const spawning = { run, parent, budget: budgets[index + 1] ?? null, priority: "normal" } as const;
      this.#state = Ledger.admit(this.#state, { ...spawning, onFull: "deny", detached: false, at: 0 }).state;
    });
  }

  begin({ run, step, attempt: id, ask }: Call): number | null {
    const gate = Ledger.begin(this.#state, {
      run,
      step: StepId.of(run, "llm", step),
      attempt: attempt(id),
      epoch: { id: "", order: null },
      ask,
      rerun: false,
      leaseIsFinal: false,
      at: 0,
    });
    this.#state = gate.state;
    if (gate.decision.kind !== "granted") return null;
    this.#ceilings.set(id, gate.decision.ceiling);
    this.#countTurn(run, step);
    this.#book(run, gate.decision.ceiling, 1);
    return gate.decision.outputTokens;
  }

  #countTurn(run: RunId, step: number): void {
    const steps = this.#steps.get(run) ?? new Set();
    this.#steps.set(run, steps.add(step));
    const { maxTurns } = this.#state.accounts[run] ?? {};
    if (steps.size > (maxTurns ?? Infinity)) throw new Error(`${run} makes more than ${maxTurns} calls`);
  }

  settle({ run, attempt: id, ask }: Call, usage: Usage | null): void {
    const settled = Ledger.settle(this.#state, { run, attempt: attempt(id), usage, at: 0 });
    this.#state = settled.state;
    if (usage === null || !Usage.isSane(usage) || ask.price === null) return;
    this.#book(run, this.#ceilings.get(id) ?? { tokens: 0, costMicros: 0 }, -1);
    this.#book(run, { tokens: Usage.tokens(usage), costMicros: Usage.cost(usage, ask.price) }, 1);
  }

  /** Its children end with it (6.7): nothing more begins there. */
  end(run: RunId): void {
    const { state } = Ledger.cancel(this.#state, { run, reason: "parent-ended", at: 0 });
    this.#state = Ledger.release(state, { run, at: 0 }).state;
    this.#touched = this.#path(run);
  }

  /** Asserts that the changed accounts are booked as counted, and within their limits. */
  check(): void {
    for (const account of this.#touched) {
      const state = account === null ? this.#state.tree.account : this.#state.accounts[account];
      if (state) this.#compare(state, account);
    }
    this.#touched = [];
  }

  #compare(account: Account, owner: RunId | null): void {
    const spend = Ledger.spend(account);
    const booked = this.#booked.get(owner) ?? { tokens: 0, costMicros: 0 };
    if (spend.tokens !== booked.tokens || spend.costMicros !== booked.costMicros) {
      throw new Error(`booked ${JSON.stringify(spend)} instead of ${JSON.stringify(booked)} on ${owner}`);
    }
    const isOver =
      spend.tokens > (account.maxTokens ?? Infinity) ||
      spend.costMicros > (account.maxCostMicros ?? Infinity);
    if (isOver) throw new Error(`over the cap on ${owner}: ${JSON.stringify(account)}`);
  }

  #book(run: RunId, { tokens, costMicros: cost }: Amounts, sign: number): void {
    this.#touched = this.#path(run);
    for (const account of this.#touched) {
      const before = this.#booked.get(account) ?? { tokens: 0, costMicros: 0 };
      this.#booked.set(account, {
        tokens: before.tokens + sign * tokens,
        costMicros: before.costMicros + sign * cost,
      });
    }
  }

  /** An ended run leaves its account, not those of its ancestors. */
  #path(run: RunId): readonly (RunId | null)[] {
    return [null, ...pathUpwards(this.#parents, run)];
  }
}

function* pathUpwards(leads: ReadonlyMap<RunId, RunId>, run: RunId): Generator<RunId> {
  for (let each: RunId | undefined = run; each; each = leads.get(each)) yield each;
}

/** The known state of an account kept beside the calls. */
class Tabs {
  readonly #used = new Map<RunId | null, Amounts>();
  readonly #limits = new Map<RunId | null, ExecutionBudget>();
  readonly #lead: ReadonlyMap<RunId, RunId>;

  constructor(scenario: Scenario) {
    this.#lead = new Map(runsOf(scenario));
    this.#limits.set(null, scenario.treeBudget);
    scenario.budgets.forEach((budget, index) => this.#limits.set(nth(index), budget));
  }

  /** Whether all accounts of the path hold this much more. */
  fits(run: RunId, more: Amounts): boolean {
    return this.#path(run).every((account) => {
      const { tokens, costMicros: cost } = this.#used.get(account) ?? { tokens: 0, costMicros: 0 };
      const { maxTokens = Infinity, maxCostUsd = Infinity } = this.#limits.get(account) ?? {};
      return tokens + more.tokens <= maxTokens && cost + more.costMicros <= Money.cap(maxCostUsd);
    });
  }

  add(run: RunId, { tokens, costMicros: cost }: Amounts): void {
    for (const account of this.#path(run)) {
      const before = this.#used.get(account) ?? { tokens: 0, costMicros: 0 };
      this.#used.set(account, { tokens: before.tokens + tokens, costMicros: before.costMicros + cost });
    }
  }

  #path(run: RunId): readonly (RunId | null)[] {
    return [null, ...pathUpwards(this.#lead, run)];
  }
}

/** Charges after the call. The decision to make a call uses an estimate before it. */
class TabBank implements Bank {
  readonly #tabs: Tabs;
  readonly #estimate: (ask: Call["ask"]) => Amounts;

  constructor(scenario: Scenario, expected: (ask: Call["ask"]) => Amounts) {
    this.#tabs = new Tabs(scenario);
    this.#estimate = expected;
  }

  begin({ run, ask }: Call): number | null {
    return this.#tabs.fits(run, this.#estimate(ask)) ? ask.outputTokens : null;
  }

  settle({ run, ask }: Call, usage: Usage | null): void {
    if (usage === null || !Usage.isSane(usage) || ask.price === null) return;
    this.#tabs.add(run, { tokens: Usage.tokens(usage), costMicros: Usage.cost(usage, ask.price) });
  }
}

/** Planted: spend is counted after the call, and who is over stops. */
export const countAfter = (scenario: Scenario): Bank =>
  new TabBank(scenario, () => ({ tokens: 0, costMicros: 0 }));

/** Planted: the balance is checked before the call, and charged after it. */
export const checkFirst = (scenario: Scenario): Bank =>
  new TabBank(scenario, ({ inputTokens: input, outputTokens: output, price }) => ({
    tokens: input + output,
    costMicros: price === null ? 0 : Usage.cost({ input, output }, price),
  }));
