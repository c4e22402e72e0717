import { digest } from "./chance.ts";
import type { ProviderPart, ProviderRequest } from "./provider-request.ts";

/**
 * The prompt cache of the fake provider. OpenAI's is automatic: the longest prefix sent before with the same
 * `prompt_cache_key`. Anthropic's works at marks only: a prefix is written at a mark, and read at a mark or up to 20
 * blocks before one. Nothing expires.
 */
export interface PromptCacheOptions {
  /** A shorter beginning is not cached. Default 1,024. */
  readonly minimumTokens?: number;
  /** Only whole blocks of this many tokens are cached, except at marks. Default: 128. */
  readonly blockTokens?: number;
}

/** The part of a prompt that came from the cache, and the part that was written there. */
export interface CacheUse {
  readonly cachedTokens: number;
  readonly writtenTokens: number;
}

/** Blocks before a mark in which a written prefix may end and still be found. */
const lookBack = 20;

/** A beginning of a prompt. */
interface Beginning {
  readonly name: string;
  readonly tokens: number;
}

/** The beginnings of prompts that were billed before. */
export class PromptCache {
  readonly #known = new Set<string>();
  readonly #minimum: number;
  readonly #block: number;

  constructor(options: PromptCacheOptions) {
    this.#minimum = options.minimumTokens ?? 1_024;
    this.#block = options.blockTokens ?? 128;
  }

  /** Returns the cached part of this prompt, and caches the rest. `head`: the tokens of system prompt and tools. */
  take(request: ProviderRequest, head: number, tokens: (part: ProviderPart) => number): CacheUse {
    const all = beginningsOf(request, head, tokens);
    return request.marks ? this.#takeMarked(all, request.marks) : this.#takeAll(all);
  }

  #takeAll(all: readonly Beginning[]): CacheUse {
    const longest = all.findLast(({ name }) => this.#known.has(name))?.tokens ?? 0;
    for (const { name } of all) this.#known.add(name);
    const whole = longest - (longest % this.#block);
    return { cachedTokens: whole >= this.#minimum ? whole : 0, writtenTokens: 0 };
  }

  #takeMarked(all: readonly Beginning[], marks: readonly number[]): CacheUse {
    const near = (index: number): boolean => marks.some((mark) => index <= mark && index >= mark - lookBack);
    const found = all.findLast(({ name }, index) => near(index) && this.#known.has(name));
    const marked = all.filter(({ tokens }, index) => marks.includes(index) && tokens >= this.#minimum);
    for (const { name } of marked) this.#known.add(name);
    const cachedTokens = found?.tokens ?? 0;
    return { cachedTokens, writtenTokens: Math.max(0, (marked.at(-1)?.tokens ?? 0) - cachedTokens) };
  }
}

/** Every beginning of a prompt: the head alone, and with each part more. */
function beginningsOf(
  request: ProviderRequest,
  head: number,
  tokens: (part: ProviderPart) => number,
): readonly Beginning[] {
  const { wire, model, system, tools, messages, body } = request;
  let name = digest(JSON.stringify([wire, model, body["prompt_cache_key"] ?? null, tools, system]));
  let length = head;
  const all: Beginning[] = [{ name, tokens: length }];
  for (const { role, parts } of messages)
    for (const part of parts) {
      name = digest(name + JSON.stringify([role, part]));
      length += tokens(part);
      all.push({ name, tokens: length });
    }
  return all;
}
