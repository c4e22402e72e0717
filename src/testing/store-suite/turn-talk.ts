import {
  type AdoptionOutcome,
  ChatMessage,
  EntryId,
  type Partition,
  RunId,
  type SessionEntry,
  type SessionKey,
  type Store,
  TreeId,
} from "#kernel";
import { type Desk, key, sessionOf } from "./harness.ts";

/** The root run of a tree. */
export const rootOf = (name: string): RunId => RunId.root(TreeId.of(name));

export const ids = (entries: readonly SessionEntry[]): string[] => entries.map((entry) => entry.id);

/** Opens the session, and appends entries. */
export async function talk({ store, tenant }: Desk, ...entries: readonly SessionEntry[]): Promise<void> {
  await store.sessions.open(tenant, sessionOf());
  await store.sessions.append(tenant, key, entries);
}

/** The main path, oldest first. */
export async function mainPath(
  { store, tenant }: Pick<Desk, "store" | "tenant">,
  of: SessionKey = key,
): Promise<readonly SessionEntry[]> {
  const from = await store.sessions.leaf(tenant, of, null);
  const path = from ? await store.sessions.path(tenant, of, { from, limit: 9_999 }) : [];
  return path.toReversed();
}

const idOf = (name: string | null): EntryId | null => (name === null ? null : EntryId.of(name));

/** Adopts a turn that follows an entry. `from`: the entry that it begins below, if it is a different one. */
export function adopt(
  { store, tenant }: { readonly store: Store; readonly tenant: Partition },
  branch: RunId,
  turn: { readonly last: string; readonly follows: string | null; readonly from?: string | null },
  of: SessionKey = key,
): Promise<AdoptionOutcome> {
  return store.sessions.adopt(tenant, of, branch, {
    last: EntryId.of(turn.last),
    follows: idOf(turn.follows),
    ...(turn.from !== undefined && { from: idOf(turn.from) }),
  });
}

/** The entry that closes a turn that was not answered. */
export const endOf = (branch: RunId): SessionEntry => ({
  id: EntryId.of(`${branch}.end`),
  parentId: null,
  at: 9_000,
  branch,
  type: "message",
  message: ChatMessage.user("it ended"),
});
