import type { Session } from "#agents";
import { NotFoundError, TurnLostError, type EntryId, type SessionEntry } from "#kernel";

/** The place of a turn in its conversation. */
export interface TurnStart {
  /** The entry that was the newest one of the conversation when the turn began. Null: there was none. */
  readonly follows: EntryId | null;
  /** The entry that the turn begins below. Another one than `follows` if the turn goes back. */
  readonly from: EntryId | null;
}

/**
 * Reads where a turn begins. An earlier execution of the run may have written its first entry: then that says where,
 * because the conversation may have changed since. `after`: the entry that the caller has named.
 */
export async function readTurnStart(
  session: Session,
  first: EntryId,
  after: EntryId | null | undefined,
): Promise<TurnStart> {
  const leaf = await session.leaf();
  if (after !== undefined) return { follows: leaf, from: after };
  const [written] = await session.store.path(session.partition, session.key, { from: first, limit: 1 });
  const follows = written ? written.parentId : leaf;
  return { follows, from: follows };
}

/** Appends entries to a turn. @throws TurnLostError if the turn is over, or its conversation was deleted. */
export async function writeTurn(session: Session, entries: readonly SessionEntry[]): Promise<void> {
  const written = session.store.append(session.partition, session.key, entries);
  const isWritten = await written.catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    throw new TurnLostError({ session: session.id, reason: "removed" });
  });
  if (!isWritten) throw new TurnLostError({ session: session.id, reason: "settled" });
}
