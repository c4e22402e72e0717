import type { Embedder } from "./embedder.ts";
import type { EntryId, SessionId } from "./ids.ts";
import type { ChatMessage } from "./message.ts";
import type { Fact, FactQuery, ForgetRequest, MemoryItem, MemoryOwner } from "./memory.ts";
import type { BlockEdit, BlockEditResult, BlockReceipt, MemoryBlock } from "./memory-block.ts";
import type { SessionEntry } from "./session.ts";

/** The owners of a block: one user, all users of the tenant, or one session. */
export type MemorySharing = MemoryOwner["kind"];

/** A fact to write. It holds from now until a later fact of its key. Run, time and labels are added. */
export type FactDraft = Pick<Fact, "id" | "key" | "value">;

/** A new text for a block. Run, time, labels and terms are added. */
export type BlockDraft = Pick<BlockEdit, "id" | "text" | "version" | "limit">;

/** A search in memory. */
export interface MemorySearch {
  readonly text: string;
  readonly kinds: readonly ("fact" | "episode")[];
  readonly limit: number;
  /** Finds items of similar meaning, too, if they were written with the same embedder. Default: words alone. */
  readonly embedder?: Embedder | undefined;
}

/** A message to be found later. */
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
 * The memory that a run can reach: of its tenant, its user and its session, and of no other. Everything that is read
 * through it adds its labels to those of the run, and everything that is written keeps the labels of the run. A write
 * with an id that was used before changes nothing. Calls of an embedder are charged to the run. Where one fails or no budget
 * allows it, that is reported, and words alone are used.
 */
export interface RunMemory {
  /** Facts of the user, by key, then by time. */
  facts(query: FactQuery): Promise<readonly Fact[]>;
  /** Writes a fact of the user. With an embedder it is found by its meaning, too. */
  remember(draft: FactDraft, embedder?: Embedder): Promise<void>;
  /** Erases facts of the user. Returns those that were erased. */
  forget(request: ForgetRequest): Promise<readonly MemoryItem[]>;
  /** Null if there is none of this name. */
  block(name: string, sharing: MemorySharing): Promise<MemoryBlock | null>;
  /** The receipt of an edit that was applied; null: there is none. */
  findEdit(sharing: MemorySharing, id: string): Promise<BlockReceipt | null>;
  /** Replaces the text of a block, if the version is the present one. @throws TypeError if it exceeds the limit. */
  editBlock(name: string, sharing: MemorySharing, draft: BlockDraft): Promise<BlockEditResult>;
  /** Finds facts that hold now, and earlier turns of the user. The best come first. */
  search(search: MemorySearch): Promise<readonly FoundMemory[]>;
  /**
   * Puts messages of the user's sessions into the index, each in place of what it had there. With an embedder they are found
   * by their meaning, too.
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
 * Called inside the step that saves a turn, once it is saved. After a crash it is called again with the same turn, and so it
 * is if it gave memory an embedder: in a step of its own, which can be charged. An error in the first one is handled as one
 * of the store is: the step is tried again.
 */
export type SavedTurnHandler = (turn: SavedTurn) => Promise<void>;
