import { isJsonObject, type Json } from "#kernel";
import { digest } from "./chance.ts";
import { countTokens } from "./tokenizer.ts";
import { InvalidRequestError } from "./wire/wire-format.ts";

/** The endpoint of OpenAI's embeddings. */
export const embeddingsEndpoint = "POST /v1/embeddings";

const defaultDimensions = 256;

/** A request for embeddings, with its answer. */
export interface EmbeddingsAnswer {
  readonly model: string;
  readonly inputTokens: number;
  readonly body: Json;
}

/** Answers a request for embeddings. @throws InvalidRequestError */
export function answerEmbeddings(given: unknown): EmbeddingsAnswer {
  if (!isJsonObject(given))
    throw new InvalidRequestError("We could not parse the JSON body of your request.");
  const { model, input, dimensions = defaultDimensions } = given;
  const texts = typeof input === "string" ? [input] : input;
  if (typeof model !== "string" || typeof dimensions !== "number")
    throw new InvalidRequestError("'model' must be a string, 'dimensions' a number");
  if (
    !Array.isArray(texts) ||
    texts.length === 0 ||
    !texts.every((text) => typeof text === "string" && text !== "")
  )
    throw new InvalidRequestError("'input' must be a string or a list of strings, none of them empty");
  const inputTokens = texts.reduce<number>((sum, text) => sum + countTokens(String(text)), 0);
  const data = texts.map((text, index) => ({
    object: "embedding",
    index,
    embedding: embed(String(text), dimensions),
  }));
  const usage = { prompt_tokens: inputTokens, total_tokens: inputTokens };
  return { model, inputTokens, body: { object: "list", data, model, usage } };
}

/** Returns a vector of length 1 that counts groups of three letters: words with a common stem get similar vectors. */
function embed(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const words = text
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? ["-"];
  for (const word of words)
    for (let at = 0; at === 0 || at + 3 <= word.length; at += 1) {
      const place = Number.parseInt(digest(word.slice(at, at + 3)).slice(0, 8), 16) % dimensions;
      vector[place] = (vector[place] ?? 0) + 1;
    }
  const length = Math.hypot(...vector);
  return vector.map((each) => each / length);
}
