import type { ReeveError, StepId } from "#kernel";
import type { Gate } from "#ledger";

/** Why a step's closure ends without an answer and without a failure. */
export type Stop =
  | { readonly kind: "paused" }
  /** Its run had to yield: to be made again. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "cancelled"; readonly reason: string }
  /** To be made again, but not soon. */
  | { readonly kind: "later"; readonly at: number; readonly retries: number }
  /** To be made again when the tree says so: other calls hold the money for it. */
  | { readonly kind: "budget"; readonly step: StepId; readonly since: number; readonly retries: number };

/** Returns the stop of a step whose run was cancelled. */
export function toCancelled(error: ReeveError): Stop {
  return { kind: "cancelled", reason: "reason" in error ? String(error.reason) : "cancelled" };
}

/** Returns what a step does whose run may begin nothing: wait for its slot, or stop. */
export function toStop(
  gate: Extract<Gate, { kind: "refused" }>,
): Extract<Stop, { kind: "paused" | "cancelled" }> {
  switch (gate.why) {
    case "paused":
      return { kind: "paused" };
    case "cancelled":
    case "deadline":
    case "ended":
    // The step has been given up by then.
    case "superseded":
      return { kind: "cancelled", reason: gate.reason ?? gate.why };
  }
}
