import { Json, type AttemptId, type EventPayloads, type EventType } from "#kernel";
import type { Report, Settlement } from "../tree/records.ts";

/**
 * What a run has to tell its tree, numbered in the order of its journal: a replayed run makes the same list, and
 * the tree books each number once. Whatever call comes next takes it along.
 */
export class Outbox {
  #unsent: Report[] = [];
  #last = 0;

  settle(settle: Settlement): void {
    this.#unsent.push({ number: ++this.#last, settle });
  }

  /** Returns the number under which the tree will know it. */
  event<Type extends EventType>(
    type: Type,
    at: number,
    attempt: AttemptId | null,
    payload: EventPayloads[Type],
  ): number {
    const report = { number: ++this.#last, event: { type, at, attempt, payload } };
    // The type parameter ties type and payload together; the union has lost that.
    this.#unsent.push(Json.as<Report>(Json.of(report)));
    return report.number;
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
