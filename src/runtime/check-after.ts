import { NotFoundError, Partition, SessionId, UserId, type Store } from "#kernel";
import type { StartOptions } from "./start-options.ts";

/** Checks the entry that a turn is to follow. @throws NotFoundError if the conversation has no such entry. */
export async function checkAfter(
  store: () => Store,
  { after = null, session, tenant, user }: StartOptions,
): Promise<void> {
  if (session === undefined)
    throw new TypeError("`after` names an entry of a conversation: give `session`, too");
  if (after === null) return;
  const key = { id: SessionId.of(session), userId: user === undefined ? null : UserId.of(user) };
  const range = { from: after, limit: 1 };
  const [entry] = await store().sessions.path(Partition.of(tenant), key, range);
  if (entry?.branch !== null) throw new NotFoundError({ what: "entry of the conversation", id: after });
}
