import type { EntryId, RunId, SessionId } from "./ids.ts";
import type { Json } from "./json.ts";
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

/** A conversation's head. */
export interface SessionHead {
  readonly id: SessionId;
  readonly leaf: EntryId | null;
  readonly phase: SessionPhase;
  /** The session this one was forked from. */
  readonly forkedFrom: { readonly session: SessionId; readonly entry: EntryId } | null;
}
