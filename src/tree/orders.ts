import type { ObjectAddress, RunId, RunResult, SessionId, UserId } from "#kernel";
import type { AuditNote } from "#audit";
import type { EventBatch } from "./state/records.ts";

/** An order to settle the turn of a tree that is over and has not saved it. Then the conversation is free. */
export interface TurnOrder {
  readonly kind: "turn";
  /** Whether it becomes part of the conversation as it is. Else it leaves no trace. */
  readonly keep: boolean;
  readonly end: Pick<RunResult, "status" | "stopReason">;
  readonly user: UserId | null;
  readonly session: SessionId;
  readonly run: RunId;
  /** The object that gives the conversation's turns; null: the conversation has none. */
  readonly release: ObjectAddress | null;
  readonly at: number;
}

/** An order of a tree, or of a tenant's budgets, to its projector. Only events hold content. */
export type ProjectorOrder =
  /** The projector asks the tree for the events above `after`. */
  | { readonly kind: "write"; readonly after: number; readonly at: number }
  | StoreErasure
  /** `confirm`: the tree waits to be told that they are stored. */
  | { readonly kind: "events"; readonly batch: EventBatch; readonly confirm: boolean; readonly at: number }
  | TurnOrder
  /** All is erased: its key goes. `runs`: how many had content that is not permanent. */
  | { readonly kind: "forget"; readonly runs: number }
  /** A decision outside of any tree. */
  | { readonly kind: "note"; readonly note: AuditNote };

/** The tree is over: content that is not permanent goes, in the store and then in the tree. */
export interface StoreErasure {
  readonly kind: "erase";
  readonly after: number;
  /** Which content goes. `some`: the tree tells the retention of each run. */
  readonly content: "none" | "some" | "all";
  readonly at: number;
}

/** An order to erase a tree that has ended: from its projector, then from itself for each further part. */
export interface EraseOrder {
  readonly at: number;
  /** How many runs, and how many events, were erased before. Default 0. */
  readonly runs?: number | undefined;
  readonly events?: number | undefined;
  /** How many of those runs were not permanent. Default 0. */
  readonly erasable?: number | undefined;
}

/** The answer to an order to erase. */
export interface EraseReply {
  /** There are events that the store has not got: nothing was erased, they come first. */
  readonly unwritten: boolean;
}
