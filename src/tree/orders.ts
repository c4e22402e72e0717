import type { ObjectAddress, RunId, RunResult, SessionId, UserId } from "#kernel";
import type { AuditNote } from "#audit";
import type { EventBatch } from "./state/records.ts";

/** An order to settle the unsaved turn of a tree that has ended. After it, the conversation is free. */
export interface TurnOrder {
  readonly kind: "turn";
  /** Whether the turn becomes part of the conversation. If not, it is dropped. */
  readonly keep: boolean;
  /** Set if the turn began below an earlier entry than the newest one. */
  readonly goesBack?: true | undefined;
  readonly end: Pick<RunResult, "status" | "stopReason">;
  readonly user: UserId | null;
  readonly session: SessionId;
  readonly run: RunId;
  /** The object that assigns the conversation's turns. Null: none. */
  readonly release: ObjectAddress | null;
  readonly at: number;
}

/** An order of a tree, or of a tenant's budgets, to its projector. Only events hold content. */
export type ProjectorOrder =
  /** The projector asks the tree for the events above `after`. */
  | { readonly kind: "write"; readonly after: number; readonly at: number }
  | StoreErasure
  /** `confirm`: the tree waits for the confirmation that they are stored. */
  | { readonly kind: "events"; readonly batch: EventBatch; readonly confirm: boolean; readonly at: number }
  | TurnOrder
  /** The tree has erased its content, so the key is destroyed. `runs`: number of runs whose content it erased. */
  | { readonly kind: "forget"; readonly runs: number; readonly whole?: true }
  /** An audit entry outside any tree. */
  | { readonly kind: "note"; readonly note: AuditNote };

/** An order to erase an ended tree, in the store and then in the tree. */
export interface StoreErasure {
  readonly kind: "erase";
  readonly after: number;
  /** The content to erase. `some`: the tree knows the retention of each run. */
  readonly content: "none" | "some" | "all";
  readonly at: number;
}

/** An order to erase an ended tree: from its projector, then from itself for each further part. */
export interface EraseOrder {
  readonly at: number;
  /** Numbers of runs and events that were erased before. Default: 0. */
  readonly runs?: number | undefined;
  readonly events?: number | undefined;
  /** Number of those runs whose content was erased. Default: 0. */
  readonly erasable?: number | undefined;
  /** Whether the content of permanent runs is erased, too. Default: whether the tree has such an order. */
  readonly whole?: boolean | undefined;
}

/** The reply to an order to erase. */
export interface EraseReply {
  /** Whether the store lacks events. If so, nothing was erased: the events must be stored first. */
  readonly unwritten: boolean;
}
