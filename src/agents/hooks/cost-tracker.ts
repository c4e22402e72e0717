import { LruMap } from "#base";
import { Money, Usage, type Micros } from "#kernel";
import type { HookSet } from "./hook-manager.ts";

/** The usage of model calls, and their cost as the ledger booked it. */
interface TrackedCost {
  readonly usage: Usage;
  readonly costMicros: Micros;
}

const none: TrackedCost = { usage: Usage.none, costMicros: 0 };

/** Maximum number of remembered runs. */
const maxRuns = 1_000;

/**
 * Adds up the usage and the cost of an agent's model calls as they happen. It only observes: the ledger enforces
 * limits.
 */
export class CostTracker implements HookSet {
  readonly #log: ((line: string) => void) | undefined;
  readonly #byRun = new LruMap<string, TrackedCost>({ max: maxRuns });
  #total: TrackedCost = none;

  constructor(
    options: { /** Called with a line when a run has ended. */ readonly log?: (line: string) => void } = {},
  ) {
    this.#log = options.log;
  }

  get usage(): Usage {
    return this.#total.usage;
  }

  get costMicros(): Micros {
    return this.#total.costMicros;
  }

  /** Returns the usage and cost of one of the newest 1,000 runs. Null: it called no model. */
  run(runId: string): TrackedCost | null {
    return this.#byRun.get(runId) ?? null;
  }

  readonly hooks: HookSet["hooks"] = {
    "model.end": ({ runId, usage }) => this.#add(runId, { usage, costMicros: 0 }),
    "budget.settled": ({ runId, costMicros }) => this.#add(runId, { usage: Usage.none, costMicros }),
    "run.end": ({ runId, agent, status }) => {
      const { usage, costMicros } = this.#byRun.get(runId) ?? none;
      this.#log?.(
        `${agent} ${runId} ${status}: ${Usage.tokens(usage)} tokens, $${Money.usd(costMicros)}; ` +
          `total $${Money.usd(this.costMicros)}`,
      );
    },
  };

  #add(runId: string, cost: TrackedCost): void {
    this.#byRun.set(runId, addCosts(this.#byRun.get(runId) ?? none, cost));
    this.#total = addCosts(this.#total, cost);
  }
}

const addCosts = (one: TrackedCost, other: TrackedCost): TrackedCost => ({
  usage: Usage.add(one.usage, other.usage),
  costMicros: one.costMicros + other.costMicros,
});
