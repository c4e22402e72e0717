import type { EntryId, SessionId, TenantId, UserId } from "./ids.ts";
import type { Labels } from "./labels.ts";
import type { ChatMessage } from "./message.ts";
import type { Model } from "./model.ts";

/**
 * A view of the messages of one model call: shorter, never stored. Pure: the same messages give the same view. A tool call
 * whose result it leaves out, and a result without its call, are repaired before they are sent.
 */
export interface CompactionStrategy {
  compact(messages: readonly ChatMessage[]): readonly ChatMessage[];
}

/** The way an agent keeps its prompts within the context of its model. */
export interface CompactionPolicy {
  /**
   * Tokens of the model's context that stay free: a turn that ends with fewer free is followed by a compaction.
   * Default: 8,192, or a quarter of the context if that is less.
   */
  readonly reserve?: number | undefined;
  /**
   * Tokens of the newest messages that are not summarized. Default: 16,384, or a quarter of the context if that is
   * less.
   */
  readonly keepRecent?: number | undefined;
  /** The model that writes summaries. Default: the agent's. */
  readonly model?: Model | undefined;
  /** Text added to the summarizer's instructions. Default: none. */
  readonly instructions?: string | undefined;
  /** The view of every prompt of the agent. Default: everything. */
  readonly strategy?: CompactionStrategy | undefined;
}

/** A request for a compaction by agent code. */
export interface CompactionRequest {
  /**
   * `turn-end`: between two turns; nothing happens unless it is due or was asked for. `overflow`: in the middle of a turn,
   * because its prompt is too long.
   */
  readonly cause: "turn-end" | "overflow";
  /** The messages that the code would send next, without the system message. */
  readonly messages: readonly ChatMessage[];
}

/** The result of a compaction. */
export interface Compaction {
  /** The entry of the conversation that holds the summary. Null if no conversation is kept. */
  readonly entryId: EntryId | null;
  readonly summary: string;
  /**
   * The messages to send next instead. Earlier messages are part of the conversation, which is read inside the step.
   */
  readonly messages: readonly ChatMessage[];
}

/** The part of a conversation that a model step asks for. */
export interface HistoryRequest {
  readonly session: {
    readonly id: SessionId;
    readonly userId: UserId | null;
    readonly tenantId: TenantId | null;
  };
  /** The entry that the turn follows. Null: none. */
  readonly at: EntryId | null;
  /** The most tokens that are worth reading. Absent: no limit is known. */
  readonly maxTokens?: number | undefined;
}

/** The source of the messages before a turn. Called inside model steps only, once for each turn of an execution. */
export interface HistoryProvider {
  read(request: HistoryRequest): Promise<{
    readonly messages: readonly ChatMessage[];
    /** Default: neither untrusted nor private. */
    readonly labels?: Partial<Labels> | undefined;
  }>;
}
