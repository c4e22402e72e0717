import { BudgetExhaustedError, type Priority, RunId, type SpawnBudget, TreeId } from "#kernel";
import type { DecisionResult } from "../command.ts";
import { Ledger } from "../ledger.ts";
import type { LedgerState } from "../state.ts";

const root = RunId.root(TreeId.of("root"));

/**
 * The headcount alone, for code without a runtime. The root holds the first slot. Preemption is cooperative: the victim
 * sees `isPaused` true, stops, and calls `confirmYield`. Only then does the taker get the slot.
 */
export class SpawnTracker {
  #state: LedgerState;
  /** A counter instead of a time: only the order of events counts here. */
  #at = 0;

  constructor(spawn: SpawnBudget) {
    const noLimits = { treeBudget: {}, rootBudget: {}, lease: null };
    this.#state = Ledger.open({ root, priority: "normal", spawn, ...noLimits, at: this.#at });
  }

  /** Number of held slots, including the root's and those of runs that have not yielded yet. */
  get total(): number {
    return this.#state.tree.headcount.holders;
  }

  /**
   * Acquires a slot. `pending`: a run was requested to yield for it. Until then the new run is paused. @throws
   * BudgetExhaustedError
   */
  acquire(run: RunId, priority: Priority = "normal"): "granted" | "pending" {
    const admission = this.#do((state, at) =>
      Ledger.admit(state, { run, parent: root, priority, budget: null, onFull: "deny", detached: true, at }),
    );
    if (admission.kind === "denied") throw new BudgetExhaustedError(admission);
    return admission.kind === "queued" ? "pending" : "granted";
  }

  /** Releases the slot. A paused run has none. */
  release(run: RunId): void {
    this.#do((state, at) => Ledger.release(state, { run, at }));
  }

  /** Whether the run may begin nothing: it has no slot, or must yield the one it has. */
  isPaused(run: RunId): boolean {
    const phase = this.#state.slots[run]?.phase;
    return phase === "pending" || phase === "yielding" || phase === "parked";
  }

  /** Reports that the run has stopped as requested. Its slot moves to the taker. */
  confirmYield(run: RunId): void {
    this.#do((state, at) => Ledger.yield(state, { run, at }));
  }

  /**
   * Changes the priority of a run. Lowered below normal in a full tree, it is paused. Raised, it continues if there is
   * room or it may preempt.
   */
  reprioritize(run: RunId, priority: Priority): void {
    this.#do((state, at) => Ledger.reprioritize(state, { run, priority, at }));
  }

  #do<Decision>(rule: (state: LedgerState, at: number) => DecisionResult<Decision>): Decision {
    this.#at += 1;
    const { state, decision } = rule(this.#state, this.#at);
    this.#state = state;
    return decision;
  }
}
