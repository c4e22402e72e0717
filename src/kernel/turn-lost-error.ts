import { ReeveError } from "./errors.ts";

/**
 * A turn cannot join its conversation. `overtaken`: another process has changed the conversation since the turn began.
 * `settled`: the turn was ended before, or erased. `removed`: the conversation was deleted. Never retried: the answer was
 * given to a conversation that has changed.
 */
export class TurnLostError extends ReeveError {
  readonly code = "turn-lost";
  readonly session: string;
  readonly reason: "overtaken" | "settled" | "removed";

  constructor({ session, reason }: { readonly session: string; readonly reason: TurnLostError["reason"] }) {
    super(`the turn is not part of session ${session}: ${explanations[reason]}`);
    this.session = session;
    this.reason = reason;
  }
}

const explanations = {
  overtaken: "another process has changed the conversation since the turn began; send the message again",
  settled: "the turn was ended before all of it was written",
  removed: "the conversation was deleted",
} as const;
