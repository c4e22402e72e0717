import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { Json } from "#kernel";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** The end of an answer: 10 tokens in, 5 out. */
export function finish(unified: Finish["finishReason"]["unified"]): Finish {
  return {
    type: "finish",
    finishReason: { unified, raw: undefined },
    usage: {
      inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: undefined },
      outputTokens: { total: 5, text: 5, reasoning: undefined },
    },
  };
}

/** A V4 model with a fixed answer that records its prompts. */
export function fakeV4(
  parts: readonly unknown[],
  end: Finish = finish("stop"),
  behaviour: { readonly answers?: "never"; readonly after?: "silence" | Error } = {},
): {
  readonly model: LanguageModelV4;
  readonly calls: LanguageModelV4CallOptions[];
  /** Why its streams were given up. */
  readonly cancelled: unknown[];
} {
  const calls: LanguageModelV4CallOptions[] = [];
  const cancelled: unknown[] = [];
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "acme.chat",
    modelId: "acme-1",
    supportedUrls: {},
    doGenerate(options) {
      calls.push(options);
      if (behaviour.answers === "never") return new Promise(() => {});
      return Promise.resolve({
        ...end,
        content: Json.as<LanguageModelV4Content[]>(Json.of(parts)),
        warnings: [],
      });
    },
    doStream(options) {
      calls.push(options);
      if (behaviour.answers === "never") return new Promise(() => {});
      const rest = [...Json.as<LanguageModelV4StreamPart[]>(Json.of(parts))];
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        pull(controller) {
          const part = rest.shift();
          if (part) controller.enqueue(part);
          else if (behaviour.after instanceof Error) controller.error(behaviour.after);
          else if (behaviour.after === undefined) controller.close();
        },
        cancel: (reason) => void cancelled.push(reason),
      });
      return Promise.resolve({ stream });
    },
  };
  return { model, calls, cancelled };
}

/** A V3 model with a fixed answer. */
export function fakeV3(content: LanguageModelV3Content[]): {
  readonly model: LanguageModelV3;
  readonly calls: LanguageModelV3CallOptions[];
} {
  const calls: LanguageModelV3CallOptions[] = [];
  const { finishReason: _v4, usage } = finish("stop");
  const model: LanguageModelV3 = {
    specificationVersion: "v3",
    provider: "acme.chat",
    modelId: "acme-1",
    supportedUrls: {},
    doGenerate(options) {
      calls.push(options);
      return Promise.resolve({
        content,
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      });
    },
    doStream: () => Promise.reject(new Error("not asked for")),
  };
  return { model, calls };
}
