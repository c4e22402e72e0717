import { type EntryId, isJsonObject, Json, type JsonObject, type SessionEntry, TurnLostError } from "#kernel";
import { decodeEntry, encodeEntry, entryId } from "./decode-entry.ts";
import { splitLines, tooLong } from "./lines.ts";
import { repairEntries } from "./repair-entries.ts";
import type { Session } from "./session.ts";

/** Maximum characters of a line. */
const longestLine = 64 * 1024 * 1024;
/** Maximum nesting of a line: deeper values can be read but not written again. */
const deepestNesting = 500;
/** Number of entries per write. */
const batchSize = 500;

/** The outcome of an import. */
export interface ImportReport {
  /** Number of imported entries, including those of unknown types. */
  readonly imported: number;
  /** Lines that repeat an id. The first one stays. */
  readonly duplicates: number;
  /** Entries whose parent was missing, cyclic or unreachable. They were moved below the entry before them. */
  readonly moved: number;
  /** Lines that are no entries: torn, too long, too deep, or without a position in the tree. */
  readonly skipped: number;
}

/** Yields a session as JSON lines: a header, then every entry of every branch, parents first. */
export async function* exportSession(session: Session): AsyncGenerator<string, void, undefined> {
  const { id, leaf, forkedFrom, startedAt } = await session.head();
  yield `${JSON.stringify({ type: "session", version: 1, id, startedAt, leaf, forkedFrom })}\n`;
  for await (const entry of session.entries()) yield `${JSON.stringify(encodeEntry(entry))}\n`;
}

/**
 * Reads JSON lines, in pieces of any size, into an open session. The session stays readable for any input, and every
 * readable line is kept. The leaf moves last, to the header's leaf or else to the last entry of the main branch. An
 * interrupted import can be repeated.
 *
 * @throws TurnLostError if the session has a settled turn of the same name; SessionBusyError if it is changed meanwhile.
 */
export async function importSession(
  session: Session,
  pieces: AsyncIterable<string> | Iterable<string>,
): Promise<ImportReport> {
  const { header, entries, duplicates, skipped } = await readLines(pieces);
  const { repaired: mended, moved } = repairEntries(entries);
  const { store, partition, key } = session;
  for (let start = 0; start < mended.length; start += batchSize)
    if (!(await store.append(partition, key, mended.slice(start, start + batchSize))))
      throw new TurnLostError({ session: key.id, reason: "settled" });
  const leaf = leafOf(header, entries);
  if (leaf !== undefined) await session.navigate(leaf);
  return { imported: mended.length, duplicates, moved, skipped };
}

interface Lines {
  header: JsonObject | null;
  readonly entries: Map<EntryId, SessionEntry>;
  duplicates: number;
  skipped: number;
}

async function readLines(pieces: AsyncIterable<string> | Iterable<string>): Promise<Lines> {
  const read: Lines = { header: null, entries: new Map(), duplicates: 0, skipped: 0 };
  for await (const line of splitLines(pieces, longestLine)) {
    if (line !== tooLong && line.trim() === "") continue;
    const raw = line === tooLong ? undefined : parseLine(line);
    const entry = raw === undefined ? null : decodeEntry(raw);
    if (entry && read.entries.has(entry.id)) read.duplicates += 1;
    else if (entry) read.entries.set(entry.id, entry);
    else if (!read.header && isJsonObject(raw) && raw["type"] === "session") read.header = raw;
    else read.skipped += 1;
  }
  return read;
}

function parseLine(line: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isShallow(value, deepestNesting) ? Json.of(value) : undefined;
  } catch {
    return undefined;
  }
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

/** Returns the new main leaf. Undefined: it stays. */
function leafOf(
  header: JsonObject | null,
  entries: ReadonlyMap<EntryId, SessionEntry>,
): EntryId | null | undefined {
  const wanted = header?.["leaf"];
  if (wanted === null) return null;
  const named = entryId(wanted);
  if (named && entries.get(named)?.branch === null) return named;
  return [...entries.values()].findLast(({ branch }) => branch === null)?.id;
}
