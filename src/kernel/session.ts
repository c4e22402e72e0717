import type { EntryId, RunId, SessionId, UserId } from "./ids.ts";
import { isJsonObject, Json } from "./json.ts";
import type { ChatMessage } from "./message.ts";

/** What a session is doing. Only an idle one can be changed. */
export type SessionPhase = "idle" | "turn" | "compaction";

/** What every entry carries. Entries form a tree; the path from the leaf to the root is the conversation. */
export interface EntryBase {
  readonly id: EntryId;
  readonly parentId: EntryId | null;
  readonly at: number;
  /** The helper whose branch this is; null on the main one. */
  readonly branch: RunId | null;
}

/** One entry of a session. */
export type SessionEntry =
  | (EntryBase & { readonly type: "message"; readonly message: ChatMessage })
  | (EntryBase & {
      readonly type: "compaction";
      readonly summary: string;
      /** The first entry that is still sent as it is. */
      readonly keptFrom: EntryId;
      readonly tokensBefore: number;
    })
  | (EntryBase & { readonly type: "branch"; readonly from: EntryId; readonly summary: string | null })
  | (EntryBase & { readonly type: "label"; readonly target: EntryId; readonly label: string | null })
  | (EntryBase & { readonly type: "model-change"; readonly model: string })
  | (EntryBase & { readonly type: "custom"; readonly kind: string; readonly data: Json })
  | (EntryBase & { readonly type: "unknown"; readonly raw: Json });

const known: ReadonlySet<string> = new Set([
  "message",
  "compaction",
  "branch",
  "label",
  "model-change",
  "custom",
] satisfies readonly SessionEntry["type"][]);

/** Readers of {@link SessionEntry}. */
export const SessionEntry = {
  /** What an entry says, apart from where it stands. An unknown one goes back exactly as it came. */
  encode: (entry: SessionEntry): Json => {
    const { id: _id, parentId: _parentId, at: _at, branch: _branch, ...said } = entry;
    return said.type === "unknown" ? said.raw : Json.of(said);
  },
  /** An entry that came back from storage: what we do not know, or cannot read, is kept whole. */
  decode: (base: EntryBase, said: Json): SessionEntry => {
    const type = isJsonObject(said) ? said["type"] : undefined;
    if (isJsonObject(said) && typeof type === "string" && known.has(type))
      return Json.as({ ...said, ...base });
    return { ...base, type: "unknown", raw: said };
  },
} as const;

/** A conversation, as stores keep it. Whose turn it is, is the engine's to know. */
export interface SessionHead {
  readonly id: SessionId;
  readonly userId: UserId | null;
  readonly startedAt: number;
  /** The newest entry of the main branch's path; null while there is none. */
  readonly leaf: EntryId | null;
  /** The session this one was forked from. */
  readonly forkedFrom: { readonly session: SessionId; readonly entry: EntryId } | null;
}
