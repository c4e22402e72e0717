import type { EntryId, SessionId } from "./ids.ts";
import type { ChatMessage } from "./message.ts";
import type { Fact, FactQuery, ForgetRequest, IndexEntry, MemoryItem, MemoryOwner } from "./memory.ts";
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
}

/** A message of an earlier turn. */
export interface Episode {
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
 * with an id that was used before changes nothing.
 */
export interface RunMemory {
  /** Facts of the user, by key, then by time. */
  facts(query: FactQuery): Promise<readonly Fact[]>;
  /** Writes a fact of the user. */
  remember(draft: FactDraft): Promise<void>;
  /** Erases facts of the user. Returns those that were erased. */
  forget(request: ForgetRequest): Promise<readonly MemoryItem[]>;
  /** Null if there is none of this name. */
  block(name: string, sharing: MemorySharing): Promise<MemoryBlock | null>;
  /** The receipt of an edit that was applied; null: there is none. */
  findEdit(sharing: MemorySharing, id: string): Promise<BlockReceipt | null>;
  /** Replaces the text of a block, if the version is the present one. @throws TypeError if it exceeds the limit. */
  editBlock(name: string, sharing: MemorySharing, draft: BlockDraft): Promise<BlockEditResult>;
  /** Finds facts that hold now, and earlier turns of the user, by words. The best come first. */
  search(search: MemorySearch): Promise<readonly FoundMemory[]>;
  /** Puts messages of the user's sessions into the index, each in place of its former terms. */
  index(entries: readonly IndexEntry[]): Promise<void>;
}

/** A turn that was saved. */
export interface SavedTurn {
  readonly sessionId: SessionId;
  /** Its entries, oldest first. */
  readonly entries: readonly SessionEntry[];
  readonly memory: RunMemory;
}

/**
 * Called inside the step that saves a turn, once it is saved. After a crash it is called again with the same turn. An error
 * is handled as one of the store is: the step is tried again.
 */
export type SavedTurnHandler = (turn: SavedTurn) => Promise<void>;
