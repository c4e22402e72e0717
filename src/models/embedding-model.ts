import type { EmbeddingModelV3, EmbeddingModelV4 } from "@ai-sdk/provider";
import { Price, ReeveError, type Embedder, type Embeddings } from "#kernel";
import { rejectOnAbort } from "#base";
import { classifyError } from "./classify-error.ts";

/** An embedding model of the AI SDK. */
export type AiSdkEmbeddingModel = EmbeddingModelV3 | EmbeddingModelV4;

/** The facts about an embedding model that its object does not have. */
export interface EmbeddingModelOptions {
  /** The length of its vectors. */
  readonly dimensions: number;
  /** Micro-dollars per million tokens; null: it is free, as one on your own machine is. */
  readonly price: Pick<Price, "input"> | null;
}

/**
 * Creates an embedder from an embedding model of the AI SDK (V3 and V4). The model's own retries are off. Texts beyond
 * the provider's batch size are sent in several requests, in sequence.
 * @throws TypeError or RangeError with the reason.
 */
export function embeddingModel(model: AiSdkEmbeddingModel, options: EmbeddingModelOptions): Embedder {
  const { specificationVersion: version, modelId: id } = model;
  const { dimensions, price } = options;
  if (version !== "v3" && version !== "v4")
    throw new TypeError(
      `embeddingModel() needs a model of the AI SDK 6 or newer, got specification version ${String(version)}`,
    );
  if (!Number.isSafeInteger(dimensions) || dimensions < 1)
    throw new RangeError(`dimensions must be a positive integer, got ${dimensions}`);
  return Object.freeze({
    id,
    dimensions,
    price: price && Price.check({ input: price.input, output: 0 }, id),
    embed: async (texts: readonly string[], { signal }: { readonly signal: AbortSignal }) => {
      try {
        signal.throwIfAborted();
        return await embedAll(model, texts, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw ReeveError.is(error) ? error : classifyError(error);
      }
    },
  });
}

async function embedAll(
  model: AiSdkEmbeddingModel,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embeddings> {
  const atOnce = (await model.maxEmbeddingsPerCall) ?? Infinity;
  const vectors: (readonly number[])[] = [];
  let inputTokens: number | null = 0;
  for (let from = 0; from < texts.length; from += atOnce) {
    const values = texts.slice(from, from + atOnce);
    const { embeddings, usage } = await rejectOnAbort(model.doEmbed({ values, abortSignal: signal }), signal);
    vectors.push(...embeddings);
    inputTokens = usage && inputTokens !== null ? inputTokens + usage.tokens : null;
  }
  return { vectors, inputTokens };
}
