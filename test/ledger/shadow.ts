import type { Priority, RunId } from "#kernel";
import type { Admission, Admit, LedgerEffect } from "#ledger";
import { root, run } from "./tree.ts";

/** The tested component, which decides about slots. */
export interface Headcounter {
  readonly maxAgents: number;
  admit(command: Admit): Answer<Admission>;
  wait(run: RunId, on: readonly RunId[] | null, at: number): Answer<{ readonly phase: string }>;
  tell(kind: "wake" | "yield", run: RunId, at: number): Answer<{ readonly phase: string }>;
  release(run: RunId, at: number): Answer<unknown>;
  mark(kind: "pause" | "resume" | "cancel", run: RunId, at: number): Answer<readonly RunId[]>;
  reprioritize(run: RunId, priority: Priority, at: number): Answer<unknown>;
  /** Whether the gate would let the run begin a call now. */
  mayBegin(run: RunId, at: number): boolean;
  /** Whether a run in line was demoted and is passed over for now. */
  isPassedOver(run: RunId): boolean;
}

export interface Answer<Decision> {
  readonly decision: Decision;
  readonly effects: readonly LedgerEffect[];
}

/**
 * A host that follows all decisions and counts which runs may execute, from answers and effects alone, in their order,
 * without reading the tested state.
 */
export class Shadow {
  at = 0;
  readonly #tested: Headcounter;
  readonly #live = new Set([root]);
  readonly #executing = new Set([root]);
  readonly #told = new Set<RunId>();
  readonly #queued = new Set<RunId>();
  readonly #parked = new Set<RunId>();
  readonly #waits = new Map<RunId, readonly RunId[] | null>();
  readonly #held = new Set<RunId>();
  readonly #cancelled = new Set<RunId>();
  #hired = 0;

  constructor(tested: Headcounter) {
    this.#tested = tested;
  }

  get live(): readonly RunId[] {
    return [...this.#live];
  }

  get executing(): readonly RunId[] {
    return [...this.#executing];
  }

  get told(): readonly RunId[] {
    return [...this.#told].filter((each) => each !== root);
  }

  get waiting(): readonly RunId[] {
    return [...this.#waits.keys()];
  }

  /** Returns the runs that could use a slot, as far as this host knows. */
  get line(): readonly RunId[] {
    const awake = [...this.#parked].filter((each) => !this.#waits.has(each));
    return [...this.#queued, ...awake].filter((each) => !this.#held.has(each) && !this.#cancelled.has(each));
  }

  admit(parent: RunId, wish: Pick<Admit, "priority" | "onFull" | "detached">): void {
    this.#hired += 1;
    const spawned = run(`r${this.#hired}`);
    const { decision } = this.#applyEffects(
      this.#tested.admit({ run: spawned, parent, budget: null, ...wish, at: this.at }),
    );
    if (decision.kind === "denied") return;
    this.#live.add(spawned);
    if (decision.kind === "granted") return this.#seat(spawned);
    this.#queued.add(spawned);
    if (this.#held.has(parent)) this.#held.add(spawned);
  }

  /** The run has stopped; if its yield was cancelled in between, it continues. */
  yield(who: RunId): void {
    this.#executing.delete(who);
    this.#told.delete(who);
    const { decision } = this.#applyEffects(this.#tested.tell("yield", who, this.at));
    if (decision.phase === "running") this.#seat(who);
  }

  wait(who: RunId, on: readonly RunId[] | null): void {
    this.#waits.set(who, on);
    this.#applyEffects(this.#tested.wait(who, on, this.at));
  }

  wake(who: RunId): void {
    this.#waits.delete(who);
    const { decision } = this.#applyEffects(this.#tested.tell("wake", who, this.at));
    if (decision.phase === "running") this.#seat(who);
  }

  release(who: RunId): void {
    const all = [
      this.#live,
      this.#executing,
      this.#told,
      this.#queued,
      this.#parked,
      this.#held,
      this.#waits,
    ];
    for (const each of all) each.delete(who);
    this.#applyEffects(this.#tested.release(who, this.at));
  }

  pause(who: RunId): void {
    for (const each of this.#applyEffects(this.#tested.mark("pause", who, this.at)).decision)
      this.#held.add(each);
  }

  resume(who: RunId): void {
    for (const each of this.#applyEffects(this.#tested.mark("resume", who, this.at)).decision)
      this.#held.delete(each);
  }

  cancel(who: RunId): void {
    for (const each of this.#applyEffects(this.#tested.mark("cancel", who, this.at)).decision) {
      this.#cancelled.add(each);
    }
  }

  reprioritize(who: RunId, priority: Priority): void {
    this.#applyEffects(this.#tested.reprioritize(who, priority, this.at));
  }

  /** Whether a wait for `target` would close a cycle: the host refuses those (6.9). */
  wouldCircle(who: RunId, target: RunId): boolean {
    if (target === who) return true;
    return (this.#waits.get(target) ?? []).some((next) => this.wouldCircle(who, next));
  }

  /** Between two commands. */
  check(): void {
    this.#checkCount();
    for (const each of this.#live) {
      const may = this.#executing.has(each) && !this.#told.has(each) && !this.#held.has(each);
      if (this.#tested.mayBegin(each, this.at) && !may)
        throw new Error(`${each} begins a call without a slot`);
    }
    if (this.#executing.size >= this.#tested.maxAgents) return;
    const starving = this.line.filter((each) => !this.#tested.isPassedOver(each));
    if (starving.length > 0) throw new Error(`a slot is free while ${starving.join()} stand in line`);
  }

  /** Ends all runs that can end, and asserts that only the root is left in a slot or in the queue. */
  drain(): void {
    this.resume(root);
    while (this.#advance()) this.check();
    if (this.#live.size > 1) throw new Error(`nothing moves on with ${[...this.#live].join()}`);
  }

  #advance(): boolean {
    const writers = this.live.filter((each) => each !== root);
    const ending = writers.find((each) => this.#cancelled.has(each));
    if (ending) return this.#runAction(() => this.release(ending));
    const woken = this.waiting.find((each) => this.#isOver(this.#waits.get(each) ?? null));
    if (woken) return this.#runAction(() => this.wake(woken));
    const told = this.told.at(0);
    if (told) return this.#runAction(() => this.yield(told));
    const finished = writers.find((each) => this.#executing.has(each) && !this.#waits.has(each));
    if (finished) return this.#runAction(() => this.release(finished));
    // A demoted run that is passed over continues at the latest when the root waits for its result.
    const isJoined = this.line.length > 0 && !this.#waits.has(root);
    return isJoined && this.#runAction(() => this.wait(root, this.line));
  }

  #isOver(on: readonly RunId[] | null): boolean {
    return on === null || on.some((each) => !this.#live.has(each));
  }

  #runAction(action: () => void): true {
    action();
    return true;
  }

  #applyEffects<Decision>(answer: Answer<Decision>): Answer<Decision> {
    for (const effect of answer.effects) this.#perform(effect);
    for (const effect of answer.effects) if (effect.kind === "drop") this.release(effect.run);
    return answer;
  }

  #perform(effect: LedgerEffect): void {
    if (effect.kind === "launch" || effect.kind === "resume") this.#seat(effect.run);
    if (effect.kind === "tell") this.#told.add(effect.run);
    if (effect.kind === "spare") this.#told.delete(effect.run);
    if (effect.kind === "parked") {
      this.#executing.delete(effect.run);
      this.#told.delete(effect.run);
      this.#parked.add(effect.run);
    }
  }

  #seat(who: RunId): void {
    this.#queued.delete(who);
    this.#parked.delete(who);
    this.#executing.add(who);
    this.#checkCount();
  }

  #checkCount(): void {
    const { maxAgents } = this.#tested;
    if (this.#executing.size > maxAgents) {
      throw new Error(`${[...this.#executing].join()} may execute at once, ${maxAgents} allowed`);
    }
  }
}
