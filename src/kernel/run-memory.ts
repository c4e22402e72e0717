import type { Embedder } from "./embedder.ts";
import type { EntryId, SessionId } from "./ids.ts";
import type { ChatMessage } from "./message.ts";
import type { Fact, FactQuery, ForgetRequest, MemoryItem, MemoryOwner } from "./memory.ts";
import type { BlockEdit, BlockEditResult, BlockReceipt, MemoryBlock } from "./memory-block.ts";
import type { SessionEntry } from "./session.ts";

/** The owners of a block: one user, all users of the tenant, or one session. */
export type MemorySharing = MemoryOwner["kind"];

/** A fact to write. It is valid from now until a later fact of its key. Run, time and labels are added. */
export type FactDraft = Pick<Fact, "id" | "key" | "value">;

/** A new text for a block. Run, time, labels and terms are added. */
export type BlockDraft = Pick<BlockEdit, "id" | "text" | "version" | "limit">;

/** A search in memory. */
export interface MemorySearch {
  readonly text: string;
  readonly kinds: readonly ("fact" | "episode")[];
  readonly limit: number;
  /**
   * Embedder for a search by meaning, among items that were written with the same one. Default: search by terms only.
   */
  readonly embedder?: Embedder | undefined;
}

/** A message to add to the index. */
export interface IndexedText {
  readonly item: MemoryItem;
  readonly at: number;
  readonly text: string;
}

/** A message of an earlier turn. */
interface Episode {
  readonly session: SessionId;
  readonly entry: EntryId;
  readonly at: number;
  readonly role: ChatMessage["role"];
  readonly text: string;
}

/** Something that a search found. */
export type FoundMemory =
  | { readonly kind: "fact"; readonly fact: Fact }
  | { readonly kind: "episode"; readonly episode: Episode };

/**
 * The memory that a run can reach: that of its tenant, user and session only. Reads add the labels of the content to
 * the run. Writes keep the labels of the run. A write with a used id changes nothing. Embedder calls are charged to the
 * run. If one fails, or no budget allows it, that is reported and terms alone are used.
 */
export interface RunMemory {
  /** Returns facts of the user, by key, then by time. */
  facts(query: FactQuery): Promise<readonly Fact[]>;
  /** Writes a fact of the user. With an embedder it is also found by meaning. */
  remember(draft: FactDraft, embedder?: Embedder): Promise<void>;
  /** Erases facts of the user. Returns those that were erased. */
  forget(request: ForgetRequest): Promise<readonly MemoryItem[]>;
  /** Returns a block. Null if absent. */
  block(name: string, sharing: MemorySharing): Promise<MemoryBlock | null>;
  /** Returns the receipt of an applied edit. Null: none. */
  findEdit(sharing: MemorySharing, id: string): Promise<BlockReceipt | null>;
  /** Replaces the text of a block, if the version is the present one. @throws TypeError if it exceeds the limit. */
  editBlock(name: string, sharing: MemorySharing, draft: BlockDraft): Promise<BlockEditResult>;
  /** Finds facts that are valid now, and earlier turns of the user. The best come first. */
  search(search: MemorySearch): Promise<readonly FoundMemory[]>;
  /**
   * Adds messages of the user's sessions to the index, or replaces them there. With an embedder they are also found by
   * meaning.
   */
  index(texts: readonly IndexedText[], embedder?: Embedder): Promise<void>;
}

/** A turn that was saved. */
export interface SavedTurn {
  readonly sessionId: SessionId;
  /** Its entries, oldest first. */
  readonly entries: readonly SessionEntry[];
  readonly memory: RunMemory;
}

/**
 * Handles a saved turn, inside the step that saved it. After a crash it is called again with the same turn. It is also
 * called again if it uses an embedder: in a separate step that can be charged. An error in the first call is handled
 * like a store error: the step is retried.
 */
export type SavedTurnHandler = (turn: SavedTurn) => Promise<void>;
