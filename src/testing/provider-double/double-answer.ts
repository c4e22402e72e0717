import type { Json } from "#kernel";
import type { Fault, FaultKind } from "./fault.ts";

/** A tool that the double calls. */
export interface DoubleCall {
  readonly name: string;
  readonly input: Json;
}

/** What the double says. Everything is optional: an empty answer is an answer. */
export interface DoubleAnswer {
  readonly text?: string | undefined;
  /** Thoughts, said before the text. OpenAI's chat completions count them and do not show them. */
  readonly reasoning?: string | undefined;
  readonly toolCalls?: readonly DoubleCall[] | undefined;
  /** Default: `length` if cut, else `tool-calls` if there are any, else `stop`. */
  readonly finishReason?: "stop" | "tool-calls" | "length" | "content-filter" | undefined;
  /**
   * Bill so many tokens instead of what the words count; never more than the request allows. What exceeds the
   * words was thought in silence. Default: what the words count.
   */
  readonly outputTokens?: number | undefined;
  /** So many tokens of the input came from the cache. Default: what the prompt cache says, or none. */
  readonly cachedTokens?: number | undefined;
  /** What goes wrong. The name alone stands for the fault with its defaults. */
  readonly fault?: Fault | FaultKind | undefined;
}
