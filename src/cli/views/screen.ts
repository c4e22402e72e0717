import type { Paint } from "../text/paint.ts";

/** What a view is drawn on. */
export interface Screen {
  readonly width: number;
  readonly paint: Paint;
  /** The present, for what still lasts. */
  readonly now: number;
}
