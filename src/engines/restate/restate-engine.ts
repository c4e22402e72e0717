import type { Engine } from "#kernel";
import type { Gauges } from "./operations/gauges.ts";
import type { MoveOptions, MoveResult } from "./operations/move-runs.ts";

/** An engine that executes runs on a Restate server, with operations for it. */
export interface RestateEngine extends Engine {
  /** Returns metrics since `serve`. */
  gauges(): Gauges;
  /**
   * Moves the runs of another build, when its workers are gone or should go. Needs no `serve`. If the versions of an
   * agent differ, its runs are refused there and wait until they are moved to a matching build.
   */
  moveRuns(options: MoveOptions): Promise<MoveResult>;
  /** Counts the unfinished runs of a build. Needs no `serve`. At 0 its workers can be removed. */
  countRuns(build: string): Promise<number>;
  /**
   * Makes a served build the one at which new runs start and objects are called, for example to go back to an older
   * one. Needs no `serve`.
   */
  promote(build: string): Promise<void>;
  /** The address of the probes. Null without `probePort`, or before `serve`. */
  readonly probes: string | null;
}
