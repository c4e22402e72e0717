import { ChatMessage, MemoryVector, Usage, type Embedder, type Embeddings, type Model } from "#kernel";
import type { ModelCalls } from "./model-calls.ts";
import type { EmbedTexts } from "./scoped-memory.ts";
import type { StepServices } from "./step.ts";

/** Rates of an embedder that charges nothing. */
const free = { input: 0, output: 0 };

/**
 * Converts texts to vectors inside a step: through the gate and charged like any model call, without output. It does
 * not count as a turn. @throws TypeError if the embedder does not return one vector for each text.
 */
export async function embedTexts(
  calls: ModelCalls,
  embedder: Embedder,
  texts: readonly string[],
): Promise<readonly (readonly number[])[]> {
  let answer: Embeddings | null = null;
  const model: Model = {
    id: embedder.id,
    price: embedder.price ?? free,
    generate: async (_, { signal }) => {
      answer = await embedder.embed(texts, { signal });
      const { inputTokens: input } = answer;
      const usage = input === null ? null : { ...Usage.none, input };
      return { message: ChatMessage.assistant(""), usage, finishReason: "stop" };
    },
  };
  const messages = texts.map((text) => ChatMessage.user(text));
  await calls.make({ model, messages, options: { maxOutputTokens: 0 }, isWatched: false, isTurn: false });
  return checkVectors(embedder, texts, answer);
}

function checkVectors(
  { id, dimensions }: Embedder,
  texts: readonly string[],
  answer: Embeddings | null,
): readonly (readonly number[])[] {
  const vectors = answer?.vectors ?? [];
  if (vectors.length !== texts.length)
    throw new TypeError(`embedder ${id} returned ${vectors.length} vectors for ${texts.length} texts`);
  for (const vector of vectors) {
    if (vector.length !== dimensions)
      throw new TypeError(
        `embedder ${id} returned a vector of ${vector.length} numbers, not of ${dimensions}`,
      );
    MemoryVector.check({ vector });
  }
  return vectors;
}

/**
 * Returns the function that converts texts of memory to vectors inside a step. A failure is reported only: the index of
 * terms is enough.
 */
export function createEmbed({ engine }: StepServices, calls: ModelCalls): EmbedTexts {
  return async (embedder, texts) => {
    try {
      return await embedTexts(calls, embedder, texts);
    } catch (error) {
      if (calls.mustStop()) throw error;
      engine.report(`embedder ${embedder.id}`, error);
      return null;
    }
  };
}
