import type { CompactionStart, StartOptions } from "#runtime";

/** The settings of a tree that is started over HTTP. The tenant follows from the key. */
export type StartSettings = Pick<
  StartOptions,
  | "id"
  | "name"
  | "user"
  | "session"
  | "onBusy"
  | "after"
  | "channel"
  | "metadata"
  | "retention"
  | "budget"
  | "spawn"
  | "priority"
  | "deadlineS"
  | "labels"
>;

/** Settings of a turn: those of a start, without the fields that the conversation sets. */
export type TurnSettings = Omit<StartSettings, "user" | "session" | "channel">;

/** The settings of a compaction. */
export interface CompactionSettings extends Pick<StartSettings, "id" | "budget"> {
  /** Additional instructions for the summariser. Default: none. */
  readonly instructions?: NonNullable<CompactionStart["instructions"]>;
}
