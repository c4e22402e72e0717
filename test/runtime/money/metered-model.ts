import type { ChatMessage, Json, Model, ModelRequest, Price, Usage } from "#kernel";

/** The actual usage, counted by the model itself, whatever it reports. */
export class Meter {
  tokens = 0;
  costMicros = 0;
  readonly calls: { readonly model: string; readonly input: number; readonly output: number }[] = [];
}

/** One answer of a metered model. */
interface MeteredAnswer {
  readonly text?: string;
  readonly calls?: readonly (readonly [tool: string, input: Json])[];
  /** Tokens, at most the limit of the request. Default 5. */
  readonly output?: number;
  /** The reported usage. Default: the actual one. */
  readonly usage?: Usage | null;
  /** Thrown after the call was counted. */
  readonly error?: Error;
}

interface MeteredOptions {
  readonly meter: Meter;
  readonly id?: string;
  readonly provider?: string;
  readonly price?: Price;
  /** The provider's actual price. Default: `price`. */
  readonly truePrice?: Price;
  readonly maxOutputTokens?: number;
  /** Tokens of a text. Default: its bytes, the most a tokenizer can make of it. */
  readonly count?: (text: string) => number;
  readonly answer: (request: ModelRequest, index: number) => MeteredAnswer;
}

export const dollars: Price = { input: 3_000_000, output: 15_000_000 };

/** A model with a meter of its own. */
export function meteredModel({ meter, count = bytes, ...options }: MeteredOptions): Model {
  const { id = "metered", provider, price = dollars, truePrice = price, maxOutputTokens } = options;
  let calls = 0;
  return {
    id,
    provider,
    price,
    maxOutputTokens,
    async generate(request) {
      const answer = options.answer(request, calls++);
      const used = {
        input: count(request.messages.map(textOf).join("\n")),
        output: Math.min(answer.output ?? 5, request.maxOutputTokens),
      };
      meter.tokens += used.input + used.output;
      meter.costMicros += Math.ceil(
        (used.input * truePrice.input + used.output * truePrice.output) / 1_000_000,
      );
      meter.calls.push({ model: id, ...used });
      if (answer.error) throw answer.error;
      const asked = (answer.calls ?? []).map(([name, input], index) => ({
        type: "tool-call" as const,
        callId: `call-${calls}-${index}`,
        name,
        input,
      }));
      const said = answer.text === undefined ? [] : [{ type: "text" as const, text: answer.text }];
      return {
        message: { role: "assistant", content: [...said, ...asked] },
        usage: answer.usage === undefined ? used : answer.usage,
        finishReason: asked.length > 0 ? "tool-calls" : "stop",
      };
    },
  };
}

const bytes = (text: string): number => Buffer.byteLength(text);

function textOf({ content }: ChatMessage): string {
  return content
    .map((block) => {
      if (block.type === "text" || block.type === "reasoning") return block.text;
      if (block.type === "tool-result") return textOf({ role: "tool", content: block.content });
      if (block.type === "tool-call") return JSON.stringify(block.input);
      return "";
    })
    .join("");
}
