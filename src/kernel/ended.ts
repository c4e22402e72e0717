import type { ErrorData } from "./errors.ts";
import type { Json } from "./json.ts";
import type { EndStatus, StopReason } from "./run-status.ts";

/** Data cannot hold a symbol, so an agent's output, or a model's, is never taken for one of these two. */
const mark: unique symbol = Symbol.for("reeve.run-mark");

/** An end of a run that is neither an answer nor an error: for example landed, with a partial output. */
export interface Ended {
  readonly [mark]: "ended";
  readonly kind: "ended";
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly output: Json;
  readonly error?: ErrorData | undefined;
}

/** The end of one execution of a run. The run continues in a fresh execution with `state`. */
export interface Continuation {
  readonly [mark]: "continue-as";
  readonly state: Json;
}

const isMarked = (value: unknown, as: string): boolean =>
  typeof value === "object" && value !== null && mark in value && value[mark] === as;

/** Creates and recognizes ends. An object that only looks like one is output. */
export const Ended = {
  of: (end: Pick<Ended, "status" | "stopReason" | "output" | "error">): Ended => ({
    ...end,
    kind: "ended",
    [mark]: "ended",
  }),
  is: (value: unknown): value is Ended => isMarked(value, "ended"),
};

/** Creates and recognizes continuations. An object that only looks like one is output. */
export const Continuation = {
  of: (state: Json): Continuation => ({ state, [mark]: "continue-as" }),
  is: (value: unknown): value is Continuation => isMarked(value, "continue-as"),
};
