import type { ApprovalRecord } from "./approval.ts";
import type { ErrorData } from "./errors.ts";
import type { EventPayloads, EventType, NumberedEvent } from "./event.ts";

/** Placeholder for erased content. */
export const erasedText = "[erased]";

/** Returns an error without its message. The code stays. */
export const eraseError = ({ code }: ErrorData): ErrorData => ({ code, message: erasedText });

/** Returns an approval without its content. The decision and its decider stay. */
export const eraseApproval = ({ decision, ...asked }: ApprovalRecord): ApprovalRecord => {
  const erased = { ...asked, arguments: null, why: erasedText };
  if (decision === null) return { ...erased, decision };
  const { arguments: _, reason: __, ...left } = decision;
  return { ...erased, decision: left };
};

/** Replacements for content, by event type. Errors are replaced separately. */
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

/** Returns an event without content. Names, amounts and times stay. Returns the same object if it holds no content. */
export function eraseEvent(event: NumberedEvent): NumberedEvent {
  const words = instead[event.type];
  const error = "error" in event && event.error ? { error: eraseError(event.error) } : {};
  const hasWords = Object.keys(words).length + Object.keys(error).length > 0;
  const shown = hideDiagnostic(event);
  return hasWords ? Object.assign({}, shown, words, error) : shown;
}

/** Returns an event without its diagnostic. Returns the same object if it has none. */
export function hideDiagnostic(event: NumberedEvent): NumberedEvent {
  if (!("diagnostic" in event)) return event;
  const shown = { ...event };
  delete shown.diagnostic;
  return shown;
}
