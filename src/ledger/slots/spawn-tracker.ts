import { BudgetExhaustedError, type Priority, RunId, type SpawnBudget, TreeId } from "#kernel";
import type { Decided } from "../command.ts";
import { Ledger } from "../ledger.ts";
import type { LedgerState } from "../state.ts";

const root = RunId.root(TreeId.of("root"));

/**
 * The headcount alone, for code without a runtime. The root holds the first slot. Preempting is polite: the victim
 * finds `isPaused` true, stops, says `yielded`, and only then the slot is the taker's.
 */
export class SpawnTracker {
  #state: LedgerState;
  /** Only the order of events counts here. */
  #at = 0;

  constructor(spawn: SpawnBudget) {
    const noLimits = { treeBudget: {}, rootBudget: {}, block: null };
    this.#state = Ledger.open({ root, priority: "normal", spawn, ...noLimits, at: this.#at });
  }

  /** Slots held, the root's and those of runs that have not yielded yet included. */
  get total(): number {
    return this.#state.tree.headcount.holders;
  }

  /**
   * Claims a slot. `pending`: somebody was told to yield for it; until then the run is paused like any other
   * without a slot. @throws BudgetExhaustedError
   */
  acquire(run: RunId, priority: Priority = "normal"): "granted" | "pending" {
    const admission = this.#do((state, at) =>
      Ledger.admit(state, { run, parent: root, priority, budget: null, onFull: "deny", detached: true, at }),
    );
    if (admission.kind === "denied") throw new BudgetExhaustedError(admission);
    return admission.kind === "queued" ? "pending" : "granted";
  }

  /** Gives the slot back. A paused run has none to give. */
  release(run: RunId): void {
    this.#do((state, at) => Ledger.release(state, { run, at }));
  }

  /** Whether the run may begin nothing: it has no slot, or was told to yield the one it has. */
  isPaused(run: RunId): boolean {
    const phase = this.#state.slots[run]?.phase;
    return phase === "pending" || phase === "yielding" || phase === "parked";
  }

  /** The run has stopped, as it was told: its slot moves on. */
  yielded(run: RunId): void {
    this.#do((state, at) => Ledger.yield(state, { run, at }));
  }

  /** Lowered below normal in a full house, a run is paused; raised, it goes on if there is room or it may preempt. */
  reprioritize(run: RunId, priority: Priority): void {
    this.#do((state, at) => Ledger.reprioritize(state, { run, priority, at }));
  }

  #do<Decision>(rule: (state: LedgerState, at: number) => Decided<Decision>): Decision {
    this.#at += 1;
    const { state, decision } = rule(this.#state, this.#at);
    this.#state = state;
    return decision;
  }
}
