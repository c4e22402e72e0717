import type { Json } from "./json.ts";
import { ContentBlock } from "./message.ts";

/** What a tool call came to. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** The value the tool returned, for code; absent on an error. */
  readonly value?: Json | undefined;
  /**
   * Set where the turn may end with this result. It ends, without another model call, if every result of the batch is
   * set so: their text is the answer.
   */
  readonly terminate?: true | undefined;
}

const mark: unique symbol = Symbol.for("reeve.terminating-value");

/** A value of a tool that the turn may end with. */
export interface TerminatingValue {
  readonly value: unknown;
  readonly [mark]: true;
}

/** Constructors of {@link ToolResult}. */
export const ToolResult = {
  /** What a tool returned, as the model is shown it. */
  of: (value: Json | undefined): ToolResult => ({
    content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
    isError: false,
    value: value ?? null,
  }),
  /** What went wrong, as the model is shown it. */
  failure: (message: string): ToolResult => ({ content: [ContentBlock.text(message)], isError: true }),
  /**
   * For `execute` and `run` to return: the value is the answer of the turn, without another model call, if all calls of
   * its batch return theirs so.
   */
  terminate: (value: unknown): TerminatingValue => ({ value, [mark]: true }),
  /** Whether a tool has returned a value of `terminate`. JSON that only looks like one is a value like any other. */
  isTerminating: (value: unknown): value is TerminatingValue =>
    typeof value === "object" && value !== null && mark in value,
} as const;
