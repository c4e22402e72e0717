import {
  type EntryBase,
  EntryId,
  isJsonObject,
  Json,
  type JsonObject,
  Labels,
  RunId,
  SessionEntry,
} from "#kernel";
import { decodeMessage, encodeMessage } from "./decode-message.ts";

const fromAFile = Labels.withSource(Labels.of({ untrusted: true }), {
  kind: "file",
  name: "import",
  runId: null,
  stepId: null,
});

/**
 * Decodes an entry from a file. Every field is checked and copied by name; nothing else is taken over. An entry with a
 * valid id, parent, time and branch, but unknown or unreadable content, is kept whole as an unknown entry. It is
 * labelled untrusted in any case, and has no figures. Null: invalid.
 */
export function decodeEntry(raw: Json): SessionEntry | null {
  if (!isJsonObject(raw)) return null;
  const { told: _told, tokens: _tokens, ...rest } = raw;
  const base = decodeBase(rest);
  if (!base) return null;
  const { labels } = SessionEntry.decodeDetails(rest);
  return (
    decodeSaid({ ...base, labels: Labels.join(fromAFile, labels && Labels.of(labels)) }, rest) ?? {
      ...base,
      type: "unknown",
      raw: rest,
    }
  );
}

/** Decodes an entry from a store, whose labels and figures are trusted. An unknown entry stays unknown. */
export function readEntry(stored: SessionEntry): SessionEntry | null {
  const raw = Json.of(stored);
  const base = isJsonObject(raw) ? decodeBase(raw) : null;
  if (!isJsonObject(raw) || !base) return null;
  if (stored.type === "unknown") return { ...base, type: "unknown", raw: stored.raw };
  const said = decodeSaid({ ...base, ...SessionEntry.decodeDetails(raw) }, raw);
  return said ?? { ...base, type: "unknown", raw };
}

/**
 * Encodes an entry for a file, without figures. An unknown entry is written back as it came, with its present position.
 */
export function encodeEntry({ told: _told, tokens: _tokens, ...entry }: SessionEntry): Json {
  if (entry.type === "message") return Json.of({ ...entry, message: encodeMessage(entry.message) });
  if (entry.type !== "unknown") return Json.of(entry);
  const { raw, type, ...base } = entry;
  return Json.of(isJsonObject(raw) ? { ...raw, ...base } : { ...base, type, raw });
}

function decodeBase(raw: JsonObject): EntryBase | null {
  const id = entryId(raw["id"]);
  const parentId = raw["parentId"] === null ? null : entryId(raw["parentId"]);
  const at = raw["at"];
  const branch = raw["branch"];
  if (!id || parentId === undefined || typeof at !== "number" || !Number.isFinite(at)) return null;
  if (branch === null) return { id, parentId, at, branch };
  return typeof branch === "string" && RunId.is(branch) ? { id, parentId, at, branch } : null;
}

function decodeSaid(base: EntryBase, raw: JsonObject): SessionEntry | null {
  const { type, summary, label, model, kind, data } = raw;
  if (typeof type !== "string") return null;
  switch (type) {
    case "message": {
      const message = decodeMessage(raw["message"]);
      return message && { ...base, type, message };
    }
    case "compaction": {
      const keptFrom = entryId(raw["keptFrom"]);
      const tokensBefore = raw["tokensBefore"];
      if (typeof summary !== "string" || !keptFrom || typeof tokensBefore !== "number") return null;
      const run = typeof raw["run"] === "string" && RunId.is(raw["run"]) ? { run: raw["run"] } : {};
      return { ...base, type, summary, keptFrom, tokensBefore, ...run };
    }
    case "branch": {
      const from = entryId(raw["from"]);
      return from && isTextOrNull(summary) ? { ...base, type, from, summary } : null;
    }
    case "label": {
      const target = entryId(raw["target"]);
      return target && isTextOrNull(label) ? { ...base, type, target, label } : null;
    }
    case "model-change":
      return typeof model === "string" ? { ...base, type, model } : null;
    case "custom":
      return typeof kind === "string" && data !== undefined ? { ...base, type, kind, data } : null;
    default:
      return null;
  }
}

/** Returns an id, if {@link EntryId.of} allows it. */
export function entryId(value: unknown): EntryId | undefined {
  return typeof value === "string" && EntryId.is(value) ? value : undefined;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}
