import type { ApprovalRecord } from "./approval.ts";
import type { ErrorData } from "./errors.ts";
import type { EventPayloads, EventType, NumberedEvent } from "./event.ts";

/** Stands where words stood that are erased. */
export const erasedText = "[erased]";

/** An error without what it says: its code stays. */
export const eraseError = ({ code }: ErrorData): ErrorData => ({ code, message: erasedText });

/** A question without what it was about: who decided what stays. */
export const eraseApproval = ({ decision, ...asked }: ApprovalRecord): ApprovalRecord => {
  const erased = { ...asked, arguments: null, why: erasedText };
  if (decision === null) return { ...erased, decision };
  const { arguments: _, reason: __, ...left } = decision;
  return { ...erased, decision: left };
};

/** What is put in the place of words, for every kind of event; errors apart. */
const instead: { readonly [Type in EventType]: Partial<EventPayloads[Type]> } = {
  "run.start": {},
  "run.end": {},
  "cycle.start": {},
  "cycle.end": {},
  "model.start": {},
  "model.end": {},
  "tool.start": {},
  "tool.end": {},
  "guardrail.trip": { reason: erasedText },
  "handoff.made": {},
  "flow.start": {},
  "flow.end": {},
  "turn.start": {},
  "turn.end": {},
  "turn.saved": {},
  "session.settled": {},
  "retry.start": {},
  "retry.end": {},
  "compaction.start": {},
  "compaction.end": {},
  "spawn.admitted": {},
  "spawn.queued": {},
  "spawn.denied": {},
  "run.paused": {},
  "run.resumed": {},
  "run.reprioritized": {},
  "run.cancelling": { reason: erasedText },
  "budget.warning": {},
  "budget.reserved": {},
  "budget.settled": {},
  "budget.denied": {},
  "budget.waiting": {},
  "budget.topped-up": {},
  "approval.requested": { why: erasedText },
  "approval.decided": {},
  "message.sent": {},
  "message.dead-lettered": { reason: erasedText },
  "permission.denied": { reason: erasedText },
  "progress.emitted": { data: null },
  "extension.error": {},
  custom: { data: null },
};

/** The names of all events. */
export const eventTypes: readonly EventType[] = Object.keys(instead).filter(
  (name): name is EventType => name in instead,
);

/** An event without anybody's words; names, amounts and times stay. The same object where it holds no words. */
export function eraseEvent(event: NumberedEvent): NumberedEvent {
  const words = instead[event.type];
  const error = "error" in event && event.error ? { error: eraseError(event.error) } : {};
  const hasWords = Object.keys(words).length + Object.keys(error).length > 0;
  const shown = hideDiagnostic(event);
  return hasWords ? Object.assign({}, shown, words, error) : shown;
}

/** Returns an event without the error of the program's code. The same object where it has none. */
export function hideDiagnostic(event: NumberedEvent): NumberedEvent {
  if (!("diagnostic" in event)) return event;
  const shown = { ...event };
  delete shown.diagnostic;
  return shown;
}
