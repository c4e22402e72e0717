import { ChatMessage, Json, type EffectTool, type Model, type Price, type Usage } from "#kernel";

/** Observes the effects of agents, and keeps independent books. */
export interface Witness {
  /** Records a model call: it is billed, whether or not the answer is received. */
  recordModelCall(text: string): Promise<void>;
  /** Records a tool call. */
  recordToolCall(tool: string, key: string, signal: AbortSignal, input?: Json): Promise<void>;
}

/** One micro-dollar per input token, two per output token. */
export const price: Price = { input: 1_000_000, output: 2_000_000 };
/** The usage of every call of the echo. */
export const perCall: Usage = { input: 10, output: 5 };

/** A model that repeats its prompt, and is billed by the witness. */
export function echo(witness: Witness): Model {
  return {
    id: "echo",
    price,
    maxOutputTokens: 50,
    async generate({ messages }) {
      const last = messages.at(-1);
      const text = last ? ChatMessage.text(last) : "";
      await witness.recordModelCall(text);
      return { message: ChatMessage.assistant(`heard ${text}`), usage: perCall, finishReason: "stop" };
    },
  };
}

/** A tool whose effects the witness records. */
export function effect(
  witness: Pick<Witness, "recordToolCall">,
  name: string,
  rest: Pick<EffectTool, "idempotent" | "onUnknown"> = {},
): EffectTool<Json> {
  return {
    name,
    description: name,
    risk: "safe",
    input: { "~standard": { version: 1, vendor: "reeve", validate: (value) => ({ value: Json.of(value) }) } },
    async execute(input, { idempotencyKey, signal }) {
      await witness.recordToolCall(name, idempotencyKey, signal, Json.of(input));
      return { did: name, input };
    },
    ...rest,
  };
}
