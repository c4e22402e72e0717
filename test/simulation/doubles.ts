import { ChatMessage, Json, type EffectTool, type Model, type Price, type Usage } from "#kernel";

/** Who sees what agents do to the world, and keeps books of its own. */
export interface Witness {
  /** A model call was made: it is on the bill, whoever hears the answer. */
  asked(text: string): Promise<void>;
  /** A tool was told to act. */
  told(tool: string, key: string, signal: AbortSignal, input?: Json): Promise<void>;
}

/** One micro-dollar for a token in, two for one out. */
export const price: Price = { input: 1_000_000, output: 2_000_000 };
/** What every call of the parrot comes to. */
export const perCall: Usage = { input: 10, output: 5 };

/** A model that says what it was told, and is billed by the witness. */
export function parrot(witness: Witness): Model {
  return {
    id: "parrot",
    price,
    maxOutputTokens: 50,
    async generate({ messages }) {
      const last = messages.at(-1);
      const text = last ? ChatMessage.text(last) : "";
      await witness.asked(text);
      return { message: ChatMessage.assistant(`heard ${text}`), usage: perCall, finishReason: "stop" };
    },
  };
}

/** A tool whose effects the witness sees. */
export function effect(
  witness: Pick<Witness, "told">,
  name: string,
  rest: Pick<EffectTool, "idempotent" | "onUnknown"> = {},
): EffectTool<Json> {
  return {
    name,
    description: name,
    risk: "safe",
    input: { "~standard": { version: 1, vendor: "reeve", validate: (value) => ({ value: Json.of(value) }) } },
    async execute(input, { idempotencyKey, signal }) {
      await witness.told(name, idempotencyKey, signal, Json.of(input));
      return { did: name, input };
    },
    ...rest,
  };
}
