import { isJsonObject, type Json, type SessionEntry, type StopReason } from "#kernel";

/** Descriptions of the reasons that end a turn without an answer. */
const reasons: Readonly<Record<StopReason, string | null>> = {
  answer: null,
  "budget.tokens": "its token limit was reached",
  "budget.cost": "its cost limit was reached",
  "budget.turns": "its limit on model calls was reached",
  "budget.agents": "its limit on agents was reached",
  deadline: "its deadline passed",
  cancelled: "cancelled by the user",
  "parent-ended": "its parent run ended",
  guardrail: "a guardrail stopped it",
  terminated: "a tool ended it",
  error: "an error ended it",
  exhausted: "no answer was found",
};

/**
 * Describes the end of a turn to the model of the next one, in one line. Null: the entry is not the end of a turn. The entry
 * is a custom one of the kind `turn-end` with the data `{ status, stopReason }`.
 */
export function describeTurnEnd(entry: SessionEntry): string | null {
  if (entry.type !== "custom" || entry.kind !== "turn-end") return null;
  const { status, stopReason } = isJsonObject(entry.data) ? entry.data : {};
  const reason = isStopReason(stopReason) ? reasons[stopReason] : null;
  const end = `The previous turn ${status === "failed" ? "failed" : "was stopped"}`;
  return reason === null ? `${end}.` : `${end}: ${reason}.`;
}

function isStopReason(value: Json | undefined): value is StopReason {
  return typeof value === "string" && Object.hasOwn(reasons, value);
}
