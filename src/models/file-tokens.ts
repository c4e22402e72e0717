import { ContentSource, type FileBlock, type Model } from "#kernel";
import { wireText } from "./wire-field.ts";

/*
 * The maximum number of tokens of a file.
 *
 * Providers scale a picture down before they count it, so its tokens have an upper bound whatever its size. The bounds
 * below are published by the providers for the models they name. A model that is not listed may count in another way.
 * Documents, audio and video have no bound: a prompt with one is bounded only by the model's context window.
 */

/** The facts that decide how many tokens a file is. */
export type FileReader = Pick<Model, "id" | "provider" | "maxFileTokens" | "contextWindow">;

/** Models that count pictures in the same way. */
interface PictureRule {
  /** For display. */
  readonly models: string;
  readonly provider: RegExp;
  readonly model: RegExp;
  readonly maxTokens: number;
}

const openai = /^(?:openai|azure)\b/;
const dated = "(?:-\\d{4}-\\d\\d-\\d\\d)?$";

/** The most tokens of one picture. */
export const pictureRules: readonly PictureRule[] = [
  // 28-pixel patches, at most 4,784 for the models that read the largest pictures.
  {
    models: "Claude 3, 4 and 5 (Anthropic, Bedrock, Vertex)",
    provider: /anthropic|bedrock/,
    model: /claude-(?:3|(?:opus|sonnet|haiku)-(?:4|5))/,
    maxTokens: 4_784,
  },
  // Scaled to 768 by 2,048 pixels: at most 8 tiles of 512, and one for the whole.
  { models: "gpt-4o", provider: openai, model: new RegExp(`^gpt-4o${dated}`), maxTokens: 85 + 8 * 170 },
  {
    models: "gpt-4o-mini",
    provider: openai,
    model: new RegExp(`^gpt-4o-mini${dated}`),
    maxTokens: 2_833 + 8 * 5_667,
  },
  { models: "o1, o3", provider: openai, model: new RegExp(`^(?:o1|o3)${dated}`), maxTokens: 75 + 8 * 150 },
  { models: "gpt-5", provider: openai, model: new RegExp(`^gpt-5${dated}`), maxTokens: 70 + 8 * 140 },
  // 32-pixel patches, at most 1,536, times a factor of the model.
  { models: "gpt-4.1", provider: openai, model: new RegExp(`^gpt-4\\.1${dated}`), maxTokens: 1_536 },
  {
    models: "gpt-4.1-mini, gpt-5-mini",
    provider: openai,
    model: new RegExp(`^(?:gpt-4\\.1|gpt-5)-mini${dated}`),
    maxTokens: 2_489,
  },
  {
    models: "gpt-4.1-nano, gpt-5-nano",
    provider: openai,
    model: new RegExp(`^(?:gpt-4\\.1|gpt-5)-nano${dated}`),
    maxTokens: 3_779,
  },
  { models: "o4-mini", provider: openai, model: new RegExp(`^o4-mini${dated}`), maxTokens: 2_642 },
  // The highest media resolution.
  { models: "Gemini 3", provider: /^google/, model: /^(?:models\/)?gemini-3/, maxTokens: 2_240 },
];

/** Providers that accept inline text unchanged: no more tokens than bytes. */
const takesText = /anthropic|^google/;
const textual = /^text\/|^application\/json$/;

/** Returns an upper bound of a file's tokens; `Infinity` where there is none. */
export function fileTokens(file: FileBlock, reader: FileReader | undefined): number {
  if (reader?.maxFileTokens !== undefined) return reader.maxFileTokens;
  const { id = "", provider = "" } = reader ?? {};
  if (file.mediaType.startsWith("image/")) {
    const rule = pictureRules.find((each) => each.provider.test(provider) && each.model.test(id));
    return rule?.maxTokens ?? Infinity;
  }
  const isText = textual.test(file.mediaType) && takesText.test(provider);
  return isText ? (inlineBytes(file) ?? Infinity) : Infinity;
}

/** Returns the bytes of a file that is sent whole; null for one that the provider fetches. */
function inlineBytes({ source }: FileBlock): number | null {
  if (ContentSource.is(source)) return source.bytes;
  const inline = wireText(source, "base64");
  return inline === "" ? null : Math.ceil((inline.length * 3) / 4);
}
