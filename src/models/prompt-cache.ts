import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type Model } from "#kernel";

/** Retention of prompt prefixes in a provider's cache. `off`: no caching is requested. */
export type PromptCache = "5m" | "1h" | "off";

/** Anthropic takes no more marks in one request. */
export const maxMarks = 4;

/**
 * Returns the options that mark the end of a stable prefix: those of Claude, by the package that reads them. Null if
 * the provider needs or supports no marks.
 */
export function cacheMark(
  { id, provider = "" }: Pick<Model, "id" | "provider">,
  ttl: Exclude<PromptCache, "off">,
): SharedV4ProviderOptions | null {
  const lasting = ttl === "1h" ? { ttl } : {};
  const ephemeral = { anthropic: { cacheControl: { type: "ephemeral", ...lasting } } };
  if (provider.split(".").includes("anthropic")) return ephemeral;
  if (!id.includes("claude")) return null;
  if (provider.startsWith("openrouter")) return ephemeral;
  // The Converse API: `bedrock.anthropic` is one of Anthropic's above.
  return /^(?:amazon-)?bedrock/.test(provider)
    ? { bedrock: { cachePoint: { type: "default", ...lasting } } }
    : null;
}

/** Whether a provider sends calls with one key to where their beginning is cached. */
export function takesCacheKey(provider: string): boolean {
  return /^(?:openai|azure)\./.test(provider);
}

/** Returns which kind of cache the caller's own options turn on; undefined: none. */
export function cacheWrites(options: JsonObject): Exclude<PromptCache, "off"> | undefined {
  for (const own of Object.values(options)) {
    const control = isJsonObject(own) ? own["cacheControl"] : undefined;
    if (isJsonObject(control)) return control["ttl"] === "1h" ? "1h" : "5m";
  }
  return undefined;
}
