import type { Engine } from "#kernel";
import type { Gauges } from "./operations/gauges.ts";
import type { MoveOptions, Moved } from "./operations/move-runs.ts";

/** Executes runs on a Restate server, and can be asked how that goes. */
export interface RestateEngine extends Engine {
  /** Since `serve`. */
  gauges(): Gauges;
  /**
   * Moves what another build has begun, when its workers are gone or should go. Needs no `serve`. Where the versions
   * of an agent differ, its runs are refused there and wait, until they are moved to a build of theirs.
   */
  moveRuns(options: MoveOptions): Promise<Moved>;
  /** Counts what a build has begun and not ended. Needs no `serve`. At 0 its workers can go. */
  countRuns(build: string): Promise<number>;
  /**
   * Makes a build that is served the one that new runs start with, and objects are called at: to go back to an older
   * one. Needs no `serve`.
   */
  promote(build: string): Promise<void>;
  /** Where the probes are served; null without `probePort`, or before `serve`. */
  readonly probes: string | null;
}
