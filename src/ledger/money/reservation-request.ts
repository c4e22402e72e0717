import type { Price } from "#kernel";

/** The amounts that a model call requests. */
export interface ReservationRequest {
  /** An upper bound of the input, as far as the caller can count it. */
  readonly inputTokens: number;
  /** The key of the model's price. Absent: nothing is known of the model. */
  readonly model?: string | undefined;
  /** Set if the call has no size bound. It is refused if tokens or cost are limited. */
  readonly unbounded?: true | undefined;
  readonly outputTokens: number;
  /** Minimum output tokens. With less, the call is refused. */
  readonly minOutputTokens: number;
  /** Null: unknown. Refused if a cost limit is on the path, unless `unpriced` allows it. */
  readonly price: Price | null;
  readonly unpriced: "refuse" | "allow";
  /** Whether it is a final call without tools, which may draw on the landing slice of its run. */
  readonly landing: boolean;
  /** Set if the call is not a turn of its run. It counts only in tokens and cost. */
  readonly uncounted?: true | undefined;
}
