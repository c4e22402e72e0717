import type { RunStatus, StopReason } from "#kernel";

/** The meaning of a piece of text; each screen chooses its style. */
export type Tone = "plain" | "strong" | "faint" | "good" | "busy" | "waiting" | "bad";

const marks = {
  pending: ["○", "faint"],
  running: ["●", "busy"],
  waiting: ["◐", "waiting"],
  paused: ["‖", "waiting"],
  completed: ["✓", "good"],
  landed: ["▾", "waiting"],
  failed: ["✗", "bad"],
  cancelled: ["∅", "bad"],
} as const satisfies Record<RunStatus, readonly [string, Tone]>;

/** The widest mark and status. */
export const statusWidth = 11;

/** Returns a symbol, the status, and the tone of both. */
export function statusText(status: RunStatus): { readonly text: string; readonly tone: Tone } {
  const [mark, tone] = marks[status];
  return { text: `${mark} ${status}`, tone };
}

const reasons: Readonly<Record<StopReason, string>> = {
  answer: "answered",
  "budget.tokens": "token budget",
  "budget.cost": "cost budget",
  "budget.turns": "turn budget",
  "budget.agents": "no slot",
  deadline: "deadline",
  cancelled: "cancelled",
  "parent-ended": "parent ended",
  guardrail: "guardrail",
  terminated: "middleware",
  error: "error",
  exhausted: "no answer",
};

/** Describes a stop reason in two words. */
export function reasonText(reason: StopReason): string {
  return reasons[reason];
}
