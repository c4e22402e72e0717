import type { Paint } from "../text/paint.ts";

/** The width, style and clock of a view. */
export interface Screen {
  readonly width: number;
  readonly paint: Paint;
  /** The present, for what still lasts. */
  readonly now: number;
}
