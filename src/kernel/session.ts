import type { AgentId, EntryId, RunId, SessionId, UserId } from "./ids.ts";
import { isJsonObject, Json, type JsonObject } from "./json.ts";
import { Labels } from "./labels.ts";
import type { ChatMessage } from "./message.ts";
import { Usage } from "./usage.ts";

/** The fields of every entry. Entries form a tree; the path from the leaf to the root is the conversation. */
export interface EntryBase {
  readonly id: EntryId;
  readonly parentId: EntryId | null;
  readonly at: number;
  /** The run whose branch this is. Null on the main one. */
  readonly branch: RunId | null;
  /** Labels of the run when it wrote the entry. Absent: none. */
  readonly labels?: Labels;
  /** The usage that the provider reported for the prompt that ends here. */
  readonly told?: ReportedPrompt;
  /** Estimated tokens of its message. Absent: not estimated yet. */
  readonly tokens?: number;
}

/** A prompt and the usage that its provider reported. */
interface ReportedPrompt {
  /** Hash of the system prompt and the tools. */
  readonly hash: string;
  /** Number of messages, without ephemeral ones. */
  readonly messages: number;
  readonly usage: Usage;
}

/** One entry of a session. */
export type SessionEntry =
  | (EntryBase & { readonly type: "message"; readonly message: ChatMessage })
  | (EntryBase & {
      readonly type: "compaction";
      readonly summary: string;
      /** The first entry that is still sent unchanged. */
      readonly keptFrom: EntryId;
      readonly tokensBefore: number;
      /** The run that wrote it. Absent: it is not known. */
      readonly run?: RunId | undefined;
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
  /** Encodes an entry without its position. An unknown entry is written back exactly as it came. */
  encode: (entry: SessionEntry): Json => {
    const { id: _id, parentId: _parentId, at: _at, branch: _branch, ...said } = entry;
    return said.type === "unknown" ? said.raw : Json.of(said);
  },
  /** Decodes an entry from storage. Unknown or unreadable content is kept whole. */
  decode: (base: Omit<EntryBase, keyof EntryDetails>, said: Json): SessionEntry => {
    const type = isJsonObject(said) ? said["type"] : undefined;
    if (!isJsonObject(said) || typeof type !== "string" || !known.has(type))
      return { ...base, type: "unknown", raw: said };
    const { labels: _labels, told: _told, tokens: _tokens, ...rest } = said;
    return Object.assign(Json.as<SessionEntry>({ ...rest, ...base }), SessionEntry.decodeDetails(said));
  },
  /** Reads labels, reported usage and estimate of an entry. Each is checked separately, and left out if invalid. */
  decodeDetails: (said: JsonObject): EntryDetails => {
    const labels = Labels.decode(said["labels"]);
    const told = decodeReport(said["told"]);
    const tokens = said["tokens"];
    return { ...(labels && { labels }), ...(told && { told }), ...(isEntryCount(tokens) && { tokens }) };
  },
} as const;

/** The details of an entry that are trusted only from its own store, not from an imported file. */
type EntryDetails = Pick<EntryBase, "labels" | "told" | "tokens">;

function decodeReport(value: Json | undefined): ReportedPrompt | null {
  if (!isJsonObject(value)) return null;
  const { hash, messages, usage } = value;
  if (typeof hash !== "string" || !isEntryCount(messages) || !isJsonObject(usage)) return null;
  const { input, output, cachedInput, cacheWrite } = usage;
  if (!isEntryCount(input) || !isEntryCount(output)) return null;
  if (
    (cachedInput !== undefined && !isEntryCount(cachedInput)) ||
    (cacheWrite !== undefined && !isEntryCount(cacheWrite))
  )
    return null;
  const reported: Usage = {
    input,
    output,
    ...(cachedInput !== undefined && { cachedInput }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
  return Usage.isSane(reported) ? { hash, messages, usage: reported } : null;
}

function isEntryCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** The name of a conversation. Users of one tenant may give theirs the same id. */
export interface SessionKey {
  readonly id: SessionId;
  readonly userId: UserId | null;
}

/** A conversation, as stores keep it. The engine knows which tree has its turn. */
export interface SessionHead extends SessionKey {
  readonly startedAt: number;
  /** Time of the newest entry of the main branch. `startedAt` while there is none. */
  readonly updatedAt: number;
  /** The agent it was opened with. */
  readonly agentId: AgentId | null;
  readonly channel: string | null;
  readonly title: string | null;
  readonly metadata: JsonObject;
  /** Whether the caller chose its id. Lists leave out unnamed sessions by default. */
  readonly isNamed: boolean;
  /** The newest entry of the main branch's path. Null while there is none. */
  readonly leaf: EntryId | null;
  /** The session this one was forked from. */
  readonly forkedFrom: { readonly session: SessionId; readonly entry: EntryId } | null;
}
