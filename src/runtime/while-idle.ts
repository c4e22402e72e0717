import { type Clock, type Engine, SessionBusyError } from "#kernel";
import { claimAddress, sessionAddress, withProtocol, type ClaimArgument } from "#tree";
import type { Owner } from "./conversation.ts";

/** The part of a runtime that claims conversations. */
interface ClaimDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly uuid: () => string;
}

/**
 * Changes a conversation while it is idle. No turn begins until the change is made. Waits for another change. @throws
 * SessionBusyError if the conversation is in a turn.
 */
export async function whileIdle<Result>(
  { engine, clock, uuid }: ClaimDeps,
  { session, owner }: { readonly session: string; readonly owner: Owner },
  change: () => Promise<Result>,
): Promise<Result> {
  const address = sessionAddress(session, owner);
  const claim = claimAddress(uuid());
  const argument: ClaimArgument = { claim, session };
  for (let waitMs = 2; ; waitMs = Math.min(2 * waitMs, 1_000))
    try {
      await engine.call(address, "claim", withProtocol(argument));
      break;
    } catch (error) {
      const isTurn = (await engine.call(address, "turn", withProtocol(null))) !== null;
      if (isTurn || !(error instanceof SessionBusyError)) throw error;
      await clock.waitUntil(clock.now() + waitMs);
    }
  try {
    return await change();
  } finally {
    await engine.call(address, "release", withProtocol({ tree: claim, at: clock.now() }));
  }
}
