import { ChatMessage, type FinishReason, type Model, type ModelRequest, type Price, type Usage } from "#kernel";

/** One answer of a scripted model. */
export interface ScriptedAnswer {
  readonly message: ChatMessage;
  readonly finishReason: FinishReason;
  /** Default: 10 tokens in, 5 out. */
  readonly usage?: Usage | null;
  /** Thrown instead of answering. */
  readonly error?: Error;
}

/** A model that says what it was told to say. */
export interface ScriptedModel extends Model {
  /** What it was asked, in order. */
  readonly requests: readonly ModelRequest[];
}

/** An answer in words. */
export function say(text: string, usage?: Usage | null): ScriptedAnswer {
  return { message: ChatMessage.assistant(text), finishReason: "stop", ...(usage !== undefined && { usage }) };
}

/** A failure. */
export function fail(error: Error): ScriptedAnswer {
  return { message: ChatMessage.assistant(""), finishReason: "error", error };
}

/** Answers in the order of the script; the last answer is repeated for ever. */
export function scriptedModel(
  script: readonly [ScriptedAnswer, ...ScriptedAnswer[]],
  options: { readonly id?: string; readonly price?: Price; readonly maxOutputTokens?: number } = {},
): ScriptedModel {
  const requests: ModelRequest[] = [];
  const [first] = script;
  return {
    id: options.id ?? "scripted",
    price: options.price,
    maxOutputTokens: options.maxOutputTokens,
    requests,
    async generate(request) {
      const answer = script[Math.min(requests.length, script.length - 1)] ?? first;
      requests.push(request);
      if (answer.error) throw answer.error;
      const { message, finishReason, usage = { input: 10, output: 5 } } = answer;
      return { message, finishReason, usage };
    },
  };
}
