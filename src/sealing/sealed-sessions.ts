import {
  Json,
  type JsonObject,
  SealBrokenError,
  SessionEntry,
  type SessionHead,
  type SessionKey,
  type Store,
} from "#kernel";
import type { Content, ContentOf } from "./content.ts";

/**
 * Seals sessions. Entries are stored as unknown ones: their ids, parents and times stay readable, their content does
 * not. Titles and metadata are sealed as well.
 */
export function sealedSessions(sessions: Store["sessions"], contentOf: ContentOf): Store["sessions"] {
  const openEntries = async (
    partition: Parameters<ContentOf>[0],
    kept: readonly SessionEntry[],
  ): Promise<readonly SessionEntry[]> => {
    const content = await contentOf(partition);
    return kept.map((entry) => openEntry(content, entry));
  };
  return {
    open: async (partition, session, turn) => {
      const content = await contentOf(partition);
      await sessions.open(partition, { ...session, ...sealHead(content, session, session) }, turn);
    },
    fork: async (partition, from, into) => {
      const content = await contentOf(partition);
      const key = { id: into.id, userId: from.session.userId };
      await sessions.fork(partition, from, { ...into, ...sealHead(content, key, into) });
    },
    head: async (partition, session) => {
      const kept = await sessions.head(partition, session);
      return kept && openHead(await contentOf(partition), kept);
    },
    list: async (partition, filter, page) => {
      const content = await contentOf(partition);
      const { items, next } = await sessions.list(partition, filter, page);
      return { items: items.map((kept) => openHead(content, kept)), next };
    },
    rename: async (partition, session, title) => {
      const content = await contentOf(partition);
      await sessions.rename(partition, session, sealTitle(content, session, title));
    },
    remove: (partition, session) => sessions.remove(partition, session),
    append: async (partition, session, entries, fence) => {
      const content = await contentOf(partition);
      const sealed = entries.map((entry) => sealEntry(content, entry));
      return sessions.append(partition, session, sealed, fence);
    },
    adopt: (...given) => sessions.adopt(...given),
    settle: async (partition, session, branch, { end, ...how }) => {
      const sealed = end && sealEntry(await contentOf(partition), end);
      return sessions.settle(partition, session, branch, { ...how, end: sealed });
    },
    path: async (partition, session, range) =>
      openEntries(partition, await sessions.path(partition, session, range)),
    entries: async (partition, session, range) =>
      openEntries(partition, await sessions.entries(partition, session, range)),
    leaf: (partition, session, branch) => sessions.leaf(partition, session, branch),
    moveLeaf: (partition, session, move) => sessions.moveLeaf(partition, session, move),
  };
}

// No id has a space.
const placeOfTitle = ({ id, userId }: SessionKey): string => `session-title ${userId ?? ""} ${id}`;
const placeOfMetadata = ({ id, userId }: SessionKey): string => `session-metadata ${userId ?? ""} ${id}`;

type HeadContent = Partial<Pick<SessionHead, "title" | "metadata">>;

function sealHead(
  content: Content,
  key: SessionKey,
  { title = null, metadata = {} }: HeadContent,
): Pick<SessionHead, "title" | "metadata"> {
  return {
    title: sealTitle(content, key, title),
    metadata: { ...content.seal(placeOfMetadata(key), metadata) },
  };
}

function sealTitle(content: Content, key: SessionKey, title: string | null): string | null {
  return title === null ? null : content.seal(placeOfTitle(key), title).sealed;
}

function openHead(content: Content, kept: SessionHead): SessionHead {
  const title =
    kept.title === null ? null : openOr(null, () => content.open(placeOfTitle(kept), { sealed: kept.title }));
  const metadata = openOr({}, () => content.open(placeOfMetadata(kept), kept.metadata));
  return { ...kept, title: Json.as<string | null>(title), metadata: Json.as<JsonObject>(metadata) };
}

// A fork copies entries into another session, so an entry is bound to its id only.
const toEntryContext = ({ id }: SessionEntry): string => `entry ${id}`;

function sealEntry(content: Content, entry: SessionEntry): SessionEntry {
  const { id, parentId, at, branch } = entry;
  const raw = content.seal(toEntryContext(entry), SessionEntry.encode(entry));
  return { id, parentId, at, branch, type: "unknown", raw };
}

/** Opens an entry. An unreadable one is returned as an unknown entry. */
function openEntry(content: Content, kept: SessionEntry): SessionEntry {
  const { id, parentId, at, branch } = kept;
  const base = { id, parentId, at, branch };
  const raw = SessionEntry.encode(kept);
  const said = openOr(undefined, () => content.open(toEntryContext(kept), raw));
  return said === undefined ? { ...base, type: "unknown", raw } : SessionEntry.decode(base, said);
}

/**
 * Returns the opened content, or `torn` if it is not sealed at all: it must not hide its session. A wrong key is an
 * error.
 */
function openOr<Torn>(torn: Torn, open: () => Json): Json | Torn {
  try {
    return open();
  } catch (error) {
    if (error instanceof SealBrokenError && error.reason === "not-sealed") return torn;
    throw error;
  }
}
