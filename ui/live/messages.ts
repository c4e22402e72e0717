import type { AgentView, TreeModel, TreeView } from "#view";
import type { RunRecord } from "../api/records.ts";

/** An event of a tree. */
export type TreeEvent = Parameters<TreeModel["apply"]>[0];

/** One agent of a tree, with ids of its children instead of the children, so a change sends no other row. */
export type AgentRow = Omit<AgentView, "children"> & { readonly children: readonly AgentView["runId"][] };

/** A tree's rows that changed, and its figures. */
export interface TreeUpdate extends Omit<TreeView, "root"> {
  /** Whether these are all rows, which replace the previous ones. */
  readonly isWhole: boolean;
  /** Each parent before its children. */
  readonly rows: readonly AgentRow[];
  /** The newest events that were not sent before, oldest first. */
  readonly events: readonly TreeEvent[];
  /** Whether the tree has ended and all its events were sent. */
  readonly isOver: boolean;
}

/** A tree that cannot be shown. `missing`: it does not exist, or the key may not see it. */
export interface TreeProblem {
  readonly treeId: string;
  readonly problem: "missing" | { readonly detail: string };
}

/** Calls that wait for approval. */
export interface Waiting {
  readonly count: number;
  readonly newest: string | null;
}

/** The state of the server. */
export interface ServerStatus {
  /** Since when it does not answer; null: it does. */
  readonly lostSince: number | null;
  /** Whether the server answers, and its store does not. */
  readonly isStoreGone: boolean;
  /** Milliseconds by which the store lags behind. Null if unknown. */
  readonly lagMs: number | null;
  /** Failures in a row of writes to the store. Null if unknown. */
  readonly failedWrites: number | null;
  /** Number of trees that are stored in reduced form. Null if unknown. */
  readonly reducedTrees: number | null;
  /** Since when no worker is there; null: there is one, or none is needed. */
  readonly noWorkerSince: number | null;
  /** The session has ended: a key is needed. */
  readonly isRefused: boolean;
}

/** The changes for one tab since the previous message. */
export interface LiveMessage {
  readonly trees: readonly (TreeUpdate | TreeProblem)[];
  readonly runs: readonly RunRecord[];
  /** Whether lists may have changed without notice and must be read again. */
  readonly mustRelist: boolean;
  readonly waiting: Waiting | null;
  readonly status: ServerStatus;
  /** The end of the answer that the chosen run is giving now; null: as before. */
  readonly speech: { readonly run: string; readonly text: string } | null;
}

/** A message of a tab to the hub. `ready`: it has painted the last message and accepts the next one. */
export type TabMessage =
  | { readonly kind: "watch"; readonly trees: readonly string[]; readonly speaking: string | null }
  | { readonly kind: "ready" }
  | { readonly kind: "leave" };
