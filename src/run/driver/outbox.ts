import { Json, type AttemptId, type EventPayloads } from "#kernel";
import type { Report, ReportedEventType, Settlement, Spoken } from "#tree";

/**
 * What a run has to tell its tree, numbered in the order of its journal: a replayed run makes the same list, and
 * the tree books each number once. Whatever call comes next takes it along.
 */
export class Outbox {
  #unsent: Report[] = [];
  #last = 0;
  #said: Spoken | null = null;

  settle(settle: Settlement): void {
    this.#unsent.push({ number: ++this.#last, settle });
  }

  event<Type extends ReportedEventType>(
    type: Type,
    at: number,
    attempt: AttemptId | null,
    payload: EventPayloads[Type],
  ): void {
    const report = { number: ++this.#last, event: { type, at, attempt, payload } };
    // The type parameter ties type and payload together; the union has lost that.
    this.#unsent.push(Json.as<Report>(Json.of(report)));
  }

  /** Keeps the last words of the model: they go to the tree when the run comes to rest. */
  say(said: Spoken): void {
    this.#said = said;
  }

  /** Returns words that the tree does not have, once. */
  takeWords(): { readonly said?: Spoken } {
    const said = this.#said;
    this.#said = null;
    return said ? { said } : {};
  }

  /** What the tree may not know yet. */
  get unsent(): readonly Report[] {
    return this.#unsent;
  }

  /** The tree has booked everything up to this number. */
  acknowledge(number: number): void {
    if ((this.#unsent[0]?.number ?? Infinity) > number) return;
    this.#unsent = this.#unsent.filter((report) => report.number > number);
  }
}
