import {
  type ApprovalRecord,
  eraseError,
  eraseEvent,
  hideDiagnostic,
  type NumberedEvent,
  type RunResult,
  type SentApproval,
  type SentResult,
} from "#kernel";
import { mayDo, mayReadContent, mayReadEntries, type Principal } from "./auth.ts";

/** Returns the part of a result that a caller may read: without the scope `content`, no output and no text of an error. */
export function withholdOutput(principal: Principal, result: RunResult): SentResult {
  if (mayReadEntries(principal)) return result;
  const { error, ...rest } = result;
  return { ...rest, output: null, withheld: true, ...(error && { error: eraseError(error) }) };
}

/**
 * Returns the part of an approval that a caller may read: arguments, answers and reasons are content. Callers with the scope
 * `approve` read them, because a call must not be approved unseen.
 */
export function withholdArguments(principal: Principal, record: ApprovalRecord): SentApproval {
  if (mayReadEntries(principal) || mayDo(principal, "approve")) return record;
  const { decision, ...asked } = record;
  const withheld = { ...asked, arguments: null, withheld: true } as const;
  if (decision === null) return { ...withheld, decision };
  const { arguments: _, reason: __, ...left } = decision;
  return { ...withheld, decision: left };
}

/** The parts of events that a caller reads: all, all but the errors of the program's code, or no texts of errors. */
export type EventView = "all" | "texts" | "figures";

/** Returns the parts of events that a caller may read. */
export function eventViewOf(principal: Principal): EventView {
  if (mayReadContent(principal)) return "all";
  return mayReadEntries(principal) ? "texts" : "figures";
}

/** Events whose reason may quote content: guardrails read it, and a dead letter has the text of an error. */
const quoting: ReadonlySet<NumberedEvent["type"]> = new Set([
  "guardrail.trip",
  "message.dead-lettered",
] as const);

/** Returns the part of an event that is in a view. */
export function showEvent(view: EventView, event: NumberedEvent): NumberedEvent {
  if (view === "all") return event;
  const shown = hideDiagnostic(event);
  if (view === "texts") return shown;
  if (quoting.has(shown.type)) return eraseEvent(shown);
  return "error" in shown && shown.error
    ? Object.assign({}, shown, { error: eraseError(shown.error) })
    : shown;
}
