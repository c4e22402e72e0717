import { SealBrokenError, SessionEntry, type Store } from "#kernel";
import type { Content, ContentOf } from "./content.ts";

/** Entries are kept as ones that nobody knows: their ids and parents stay open, what they say does not. */
export function sealedSessions(sessions: Store["sessions"], contentOf: ContentOf): Store["sessions"] {
  const opened = async (
    partition: Parameters<ContentOf>[0],
    kept: readonly SessionEntry[],
  ): Promise<readonly SessionEntry[]> => {
    const content = await contentOf(partition);
    return kept.map((entry) => openEntry(content, entry));
  };
  return {
    open: (partition, session) => sessions.open(partition, session),
    fork: (partition, from, into) => sessions.fork(partition, from, into),
    head: (partition, session) => sessions.head(partition, session),
    list: (partition, filter, page) => sessions.list(partition, filter, page),
    append: async (partition, session, entries) => {
      const content = await contentOf(partition);
      await sessions.append(
        partition,
        session,
        entries.map((entry) => sealEntry(content, entry)),
      );
    },
    path: async (partition, session, from, limit) =>
      opened(partition, await sessions.path(partition, session, from, limit)),
    entries: async (partition, session, after, limit) =>
      opened(partition, await sessions.entries(partition, session, after, limit)),
    leaf: (partition, session, branch) => sessions.leaf(partition, session, branch),
    moveLeaf: (partition, session, branch, leaf) => sessions.moveLeaf(partition, session, branch, leaf),
    dropBranch: (partition, session, branch) => sessions.dropBranch(partition, session, branch),
  };
}

// A fork copies entries into another session, so an entry is bound to its id only.
const placeOf = ({ id }: SessionEntry): string => `entry ${id}`;

function sealEntry(content: Content, entry: SessionEntry): SessionEntry {
  const { id, parentId, at, branch } = entry;
  const raw = content.seal(placeOf(entry), SessionEntry.encode(entry));
  return { id, parentId, at, branch, type: "unknown", raw };
}

/** A torn entry is shown as one that nobody knows, and does not hide its session. A wrong key is an error. */
function openEntry(content: Content, kept: SessionEntry): SessionEntry {
  const { id, parentId, at, branch } = kept;
  const base = { id, parentId, at, branch };
  const raw = SessionEntry.encode(kept);
  try {
    return SessionEntry.decode(base, content.open(placeOf(kept), raw));
  } catch (error) {
    if (error instanceof SealBrokenError && error.reason === "not-sealed")
      return { ...base, type: "unknown", raw };
    throw error;
  }
}
