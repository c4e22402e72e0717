import { isDeepStrictEqual } from "node:util";
import { Priority, type RunId, SpawnBudget, StepId } from "#kernel";
import {
  Ledger,
  type Admission,
  type Admit,
  type DecisionResult,
  type LedgerEffect,
  type LedgerState,
} from "#ledger";
import { addIdleTime, checkClocks, checkHeadcount, type IdleTimes, RowStore } from "./row-store.ts";
import type { Answer, Headcounter } from "./shadow.ts";
import { attempt, deepFreeze, root } from "./tree.ts";

/** The ledger, observed only by its answers and effects. */
export class LedgerHeadcounter implements Headcounter {
  readonly maxAgents: number;
  #state: LedgerState;
  /** The same tree, for a host that loads each row when it is asked for; null: not compared. */
  readonly #rows: RowStore | null;
  /** The time for which each run has stood still. */
  #idle: IdleTimes = new Map();
  #at = 0;

  constructor(maxAgents: number, allowPreempt = true, { checked = false } = {}) {
    this.maxAgents = maxAgents;
    const spawn = SpawnBudget.of({ maxAgents, allowPreempt });
    const budgets = { treeBudget: {}, rootBudget: {}, lease: null };
    this.#state = Ledger.open({ root, priority: "normal", spawn, ...budgets, at: 0 });
    this.#rows = checked ? new RowStore(this.#state) : null;
  }

  admit(command: Admit): Answer<Admission> {
    return this.#do(command.at, (state) => Ledger.admit(state, command));
  }

  wait(run: RunId, on: readonly RunId[] | null, at: number): Answer<{ readonly phase: string }> {
    return this.#do(at, (state) => Ledger.wait(state, { run, on, isBlocked: on === null, at }));
  }

  tell(kind: "wake" | "yield", run: RunId, at: number): Answer<{ readonly phase: string }> {
    return this.#do(at, (state) => Ledger[kind](state, { run, at }));
  }

  release(run: RunId, at: number): Answer<unknown> {
    return this.#do(at, (state) => Ledger.release(state, { run, at }));
  }

  mark(kind: "pause" | "resume" | "cancel", run: RunId, at: number): Answer<readonly RunId[]> {
    return this.#do(at, (state) => Ledger[kind](state, { run, reason: "enough", at }));
  }

  reprioritize(run: RunId, priority: Priority, at: number): Answer<unknown> {
    return this.#do(at, (state) => Ledger.reprioritize(state, { run, priority, at }));
  }

  mayBegin(run: RunId, at: number): boolean {
    const call = {
      step: StepId.of(run, "tool", 1),
      attempt: attempt("1"),
      epoch: { id: "", order: null },
      ask: null,
    };
    const gate = Ledger.begin(this.#state, { ...call, run, rerun: false, leaseIsFinal: false, at });
    return gate.decision.kind === "granted";
  }

  isPassedOver(run: RunId): boolean {
    return this.#state.slots[run]?.skipped ?? false;
  }

  #do<Decision>(at: number, rule: (state: LedgerState) => DecisionResult<Decision>): Answer<Decision> {
    const decided = rule(this.#state);
    if (this.#rows) this.#idle = addIdleTime(this.#idle, this.#state, at - this.#at);
    this.#at = at;
    this.#state = deepFreeze(decided.state);
    if (this.#rows) {
      checkHeadcount(this.#state);
      checkClocks(this.#state, this.#idle, at);
      const { decision, effects } = this.#rows.decide(rule);
      if (!isDeepStrictEqual([decision, effects], [decided.decision, decided.effects]))
        throw new Error("a host that loads rows one by one gets another decision");
      this.#rows.expectEqual(this.#state);
    }
    return decided;
  }
}

/**
 * Planted bug: the algorithm as published. A preempted run's slot is given away at once, the run remains preemptible,
 * and its release counts although it had no slot.
 */
export class PublishedHeadcounter implements Headcounter {
  readonly maxAgents: number;
  readonly #active = new Map<RunId, Priority>();
  readonly #paused = new Set<RunId>();
  #total = 1;

  constructor(maxAgents: number) {
    this.maxAgents = maxAgents;
  }

  admit({ run, priority }: Admit): Answer<Admission> {
    const effects: LedgerEffect[] = [];
    if (this.#total < this.maxAgents) {
      this.#total += 1;
    } else {
      const weight = Priority.weight(priority);
      const below = [...this.#active].filter(([, other]) => Priority.weight(other) < weight);
      const [victim] = below.toSorted(([, a], [, b]) => Priority.weight(a) - Priority.weight(b));
      if (weight <= Priority.weight("normal") || !victim) {
        const decision = {
          kind: "denied",
          reason: "full",
          dimension: "agents",
          limit: this.maxAgents,
          used: this.#total,
        } as const;
        return { decision, effects };
      }
      this.#paused.add(victim[0]);
      effects.push({ kind: "tell", run: victim[0], cause: "preempted" });
    }
    this.#active.set(run, priority);
    return { decision: { kind: "granted" }, effects };
  }

  release(run: RunId): Answer<null> {
    this.#active.delete(run);
    this.#paused.delete(run);
    this.#total = Math.max(1, this.#total - 1);
    return { decision: null, effects: [] };
  }

  reprioritize(run: RunId, priority: Priority): Answer<null> {
    if (this.#active.has(run)) this.#active.set(run, priority);
    const isLow = Priority.weight(priority) < Priority.weight("normal");
    if (isLow && this.#total >= this.maxAgents) this.#paused.add(run);
    if (!isLow) this.#paused.delete(run);
    return { decision: null, effects: [] };
  }

  mayBegin(run: RunId): boolean {
    return (run === root || this.#active.has(run)) && !this.#paused.has(run);
  }

  wait(): Answer<{ readonly phase: string }> {
    return { decision: { phase: "waiting" }, effects: [] };
  }

  tell(kind: "wake" | "yield", run: RunId): Answer<{ readonly phase: string }> {
    if (kind === "wake") return { decision: { phase: "running" }, effects: [] };
    return { decision: { phase: this.#paused.has(run) ? "parked" : "running" }, effects: [] };
  }

  mark(): Answer<readonly RunId[]> {
    return { decision: [], effects: [] };
  }

  isPassedOver(): boolean {
    return true;
  }
}
