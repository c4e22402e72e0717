import type { SessionEntry } from "#kernel";

/** Returns an entry without its content, with its position in the tree of entries, its kind and its size. */
export function withoutContent(entry: SessionEntry): object {
  const { id, parentId, at, branch, type, tokens } = entry;
  const place = { id, parentId, at, branch, type, ...(tokens !== undefined && { tokens }) };
  switch (entry.type) {
    case "message":
      return { ...place, role: entry.message.role };
    case "compaction":
      return { ...place, keptFrom: entry.keptFrom, tokensBefore: entry.tokensBefore };
    case "branch":
      return { ...place, from: entry.from };
    case "label":
      return { ...place, target: entry.target };
    case "model-change":
      return { ...place, model: entry.model };
    case "custom":
    case "unknown":
      return place;
  }
}
