import { Json, type AttemptId, type EventPayloads } from "#kernel";
import type { Report, ReportedEventType, Settlement, SentContent } from "#tree";

/**
 * The reports of a run to its tree, numbered in the order of its journal. A replayed run makes the same list, and the
 * tree books each number once. The next call of any kind carries them.
 */
export class Outbox {
  #unsent: Report[] = [];
  #last = 0;
  #said: SentContent | null = null;

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
    // The type parameter connects type and payload. The union has lost that connection.
    this.#unsent.push(Json.as<Report>(Json.of(report)));
  }

  /** Stores the last text of the model. It is sent to the tree when the run waits or yields. */
  say(said: SentContent): void {
    this.#said = said;
  }

  /** Takes the text that the tree does not have yet. */
  takeUnsentText(): { readonly said?: SentContent } {
    const said = this.#said;
    this.#said = null;
    return said ? { said } : {};
  }

  /** Reports that the tree may not have yet. */
  get unsent(): readonly Report[] {
    return this.#unsent;
  }

  /** Removes the reports that the tree has booked, up to this number. */
  acknowledge(number: number): void {
    let booked = 0;
    while ((this.#unsent[booked]?.number ?? Infinity) <= number) booked += 1;
    if (booked > 0) this.#unsent = this.#unsent.slice(booked);
  }
}
