import type { Json } from "#kernel";
import type { Fault, FaultKind } from "./fault.ts";

/** A tool that the double calls. */
export interface ProviderCall {
  readonly name: string;
  readonly input: Json;
}

/** An answer of the fake provider. Every field is optional: an empty answer is valid. */
export interface ProviderAnswer {
  readonly text?: string | undefined;
  /** Reasoning, sent before the text. OpenAI's chat completions count it without showing it. */
  readonly reasoning?: string | undefined;
  readonly toolCalls?: readonly ProviderCall[] | undefined;
  /** Default: `length` if cut, else `tool-calls` if there are any, else `stop`. */
  readonly finishReason?: "stop" | "tool-calls" | "length" | "content-filter" | undefined;
  /**
   * Output tokens to bill instead of the counted ones; never more than the request allows. The excess counts as hidden
   * reasoning. Default: the tokens of the text.
   */
  readonly outputTokens?: number | undefined;
  /** Input tokens read from the cache. Default: as the prompt cache reports, or none. */
  readonly cachedTokens?: number | undefined;
  /** The injected fault. A name alone means the fault with its defaults. */
  readonly fault?: Fault | FaultKind | undefined;
}
