import {
  ChatMessage,
  type FinishReason,
  type Json,
  type Model,
  type ModelRequest,
  type Price,
  type Usage,
} from "#kernel";

/** One answer of a scripted model. */
export interface ScriptedAnswer {
  readonly message: ChatMessage;
  readonly finishReason: FinishReason;
  /** Default: 10 tokens in, 5 out. */
  readonly usage?: Usage | null;
  /** Thrown instead of answering. */
  readonly error?: Error;
}

/** A model with prepared answers. */
export interface ScriptedModel extends Model {
  /** The requests, in order. */
  readonly requests: readonly ModelRequest[];
}

/** Creates a text answer. */
export function say(text: string, usage?: Usage | null): ScriptedAnswer {
  return {
    message: ChatMessage.assistant(text),
    finishReason: "stop",
    ...(usage !== undefined && { usage }),
  };
}

/** A call of a tool, or of several at once. */
export function call(
  name: string,
  input: Json,
  ...more: readonly (readonly [name: string, input: Json])[]
): ScriptedAnswer {
  const calls = [[name, input] as const, ...more];
  const content = calls.map(([tool, given], index) => ({
    type: "tool-call" as const,
    // Unique in one answer is enough: results are matched inside it.
    callId: `call-${index + 1}`,
    name: tool,
    input: given,
  }));
  return { message: { role: "assistant", content }, finishReason: "tool-calls" };
}

/** A failure. */
export function fail(error: Error): ScriptedAnswer {
  return { message: ChatMessage.assistant(""), finishReason: "error", error };
}

const defaultPrice: Price = { input: 1_000_000, output: 1_000_000 };

/** Answers in the order of the script; the last answer is repeated for ever. */
export function scriptedModel(
  script: readonly [ScriptedAnswer, ...ScriptedAnswer[]],
  options: {
    readonly id?: string;
    /** Default: a dollar for a million tokens, so that a cost budget can be tried. Null: none. */
    readonly price?: Price | null;
    readonly maxOutputTokens?: number;
  } = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  const [first] = script;
  return {
    id: options.id ?? "scripted",
    price: options.price === undefined ? defaultPrice : (options.price ?? undefined),
    maxOutputTokens: options.maxOutputTokens,
    requests,
    async generate(request) {
      const answer = script[Math.min(requests.length, script.length - 1)] ?? first;
      // A conversation is one growing list, so the request is copied as it is now.
      requests.push({ ...request, messages: [...request.messages] });
      if (answer.error) throw answer.error;
      const { message, finishReason, usage = { input: 10, output: 5 } } = answer;
      return { message, finishReason, usage };
    },
  };
}
