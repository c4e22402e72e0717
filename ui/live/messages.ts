import type { AgentView, TreeModel, TreeView } from "#view";
import type { RunRecord } from "../api/records.ts";

/** An event of a tree. */
export type TreeEvent = Parameters<TreeModel["apply"]>[0];

/** One agent of a tree, with the ids of its children instead of the children: a change sends no other row. */
export type AgentRow = Omit<AgentView, "children"> & { readonly children: readonly AgentView["runId"][] };

/** A tree's rows that changed, and its figures. */
export interface TreeUpdate extends Omit<TreeView, "root"> {
  /** All rows: those from before are gone. */
  readonly isWhole: boolean;
  /** Each parent before its children. */
  readonly rows: readonly AgentRow[];
  /** The newest events that were not sent before, oldest first. */
  readonly events: readonly TreeEvent[];
  /** The stream has told all: the tree is over. */
  readonly isOver: boolean;
}

/** A tree that cannot be shown. `missing`: it does not exist, or the key may not see it. */
export interface TreeProblem {
  readonly treeId: string;
  readonly problem: "missing" | { readonly detail: string };
}

/** Calls that wait for a person. */
export interface Waiting {
  readonly count: number;
  readonly newest: string | null;
}

/** The state of the server. */
export interface ServerStatus {
  /** Since when it does not answer; null: it does. */
  readonly lostSince: number | null;
  /** The time by which the store is behind; null: not known. */
  readonly lagMs: number | null;
  /** Since when no worker is there; null: there is one, or none is needed. */
  readonly noWorkerSince: number | null;
  /** The session has ended: a key is needed. */
  readonly isRefused: boolean;
}

/** Everything that changed for one tab since the message before. */
export interface LiveMessage {
  readonly trees: readonly (TreeUpdate | TreeProblem)[];
  readonly runs: readonly RunRecord[];
  /** Lists may have changed in a way that was not told: they are to be read again. */
  readonly mustRelist: boolean;
  readonly waiting: Waiting | null;
  readonly status: ServerStatus;
  /** The end of the answer that the chosen run is giving now; null: as before. */
  readonly speech: { readonly run: string; readonly text: string } | null;
}

/** A tab's side of the connection. `ready`: it has painted what it got, and takes one message more. */
export type TabMessage =
  | { readonly kind: "watch"; readonly trees: readonly string[]; readonly speaking: string | null }
  | { readonly kind: "ready" }
  | { readonly kind: "leave" };
