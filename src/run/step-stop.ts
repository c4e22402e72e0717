import type { ReeveError, StepId } from "#kernel";
import type { Gate } from "#ledger";

/** The reason why a step's closure ends without an answer and without a failure. */
export type Stop =
  | { readonly kind: "paused" }
  /** The run had to yield. The step is repeated. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "cancelled"; readonly reason: string }
  /** The step is repeated, but not soon. */
  | { readonly kind: "later"; readonly at: number; readonly retries: number }
  /** The step is repeated when the tree wakes it: other calls hold the money for it. */
  | { readonly kind: "budget"; readonly step: StepId; readonly since: number; readonly retries: number };

/** Returns the stop of a step whose run was cancelled. */
export function toCancelled(error: ReeveError): Stop {
  return { kind: "cancelled", reason: "reason" in error ? String(error.reason) : "cancelled" };
}

/** Returns the stop of a step whose run may begin nothing: wait for its slot, or end. */
export function toStop(
  gate: Extract<Gate, { kind: "refused" }>,
): Extract<Stop, { kind: "paused" | "cancelled" }> {
  switch (gate.why) {
    case "paused":
      return { kind: "paused" };
    case "cancelled":
    case "deadline":
    case "ended":
    // The step was given up before this.
    case "superseded":
      return { kind: "cancelled", reason: gate.reason ?? gate.why };
  }
}
