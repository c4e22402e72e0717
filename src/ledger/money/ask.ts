import type { Price } from "#kernel";

/** The amounts that a model call asks for. */
export interface Ask {
  /** An upper bound of the input. */
  readonly inputTokens: number;
  /** Set if nothing bounds the call: it is refused where tokens or cost are limited. */
  readonly unbounded?: true | undefined;
  readonly outputTokens: number;
  /** Less than this is not worth a call. */
  readonly minOutputTokens: number;
  /** Null: unknown; refused where a cost limit is on the path, unless `unpriced` allows it. */
  readonly price: Price | null;
  readonly unpriced: "refuse" | "allow";
  /** A final call without tools: the owner of a slice may draw on it. */
  readonly landing: boolean;
  /** Set if the call is no turn of its run: it counts in tokens and cost only. */
  readonly uncounted?: true | undefined;
}
