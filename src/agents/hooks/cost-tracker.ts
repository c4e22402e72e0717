import { Usage, type Micros, type Price } from "#kernel";
import type { HookSet } from "./hook-manager.ts";

/** Adds up what the model calls of an agent used. Watches only: the ledger is what counts. */
export class CostTracker implements HookSet {
  readonly #prices: Readonly<Record<string, Price>>;
  readonly #byRun = new Map<string, { usage: Usage; cost: Micros }>();
  #usage: Usage = Usage.none;
  #cost: Micros = 0;

  constructor(
    options: {
      /** By model id; a call of any other model costs 0 here. */ readonly prices?: Readonly<
        Record<string, Price>
      >;
    } = {},
  ) {
    this.#prices = options.prices ?? {};
  }

  get usage(): Usage {
    return this.#usage;
  }

  get cost(): Micros {
    return this.#cost;
  }

  /** What one run used; null if it called no model. */
  run(runId: string): { readonly usage: Usage; readonly cost: Micros } | null {
    return this.#byRun.get(runId) ?? null;
  }

  readonly hooks: HookSet["hooks"] = {
    "model.end": ({ runId, model, usage }) => {
      const price = this.#prices[model];
      const cost = price ? Usage.cost(usage, price) : 0;
      const run = this.#byRun.get(runId) ?? { usage: Usage.none, cost: 0 };
      this.#byRun.set(runId, { usage: Usage.add(run.usage, usage), cost: run.cost + cost });
      this.#usage = Usage.add(this.#usage, usage);
      this.#cost += cost;
    },
  };
}
