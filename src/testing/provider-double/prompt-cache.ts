import { digest } from "./chance.ts";
import type { DoubleMessage, DoubleRequest } from "./double-request.ts";

/** How the double caches prompts: as OpenAI does, by their longest known beginning. */
export interface PromptCacheOptions {
  /** A shorter beginning is not cached. Default 1,024. */
  readonly minimumTokens?: number;
  /** Only whole blocks are cached. Default 128. */
  readonly blockTokens?: number;
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

  /** How many tokens of this prompt are known; and from now on all of them are. */
  take(request: DoubleRequest, head: number, tokens: (message: DoubleMessage) => number): number {
    let name = digest(JSON.stringify([request.wire, request.model, request.system, request.tools]));
    let length = head;
    let known = this.#take(name) ? length : 0;
    for (const message of request.messages) {
      name = digest(name + JSON.stringify(message));
      length += tokens(message);
      if (this.#take(name)) known = length;
    }
    const whole = known - (known % this.#block);
    return whole >= this.#minimum ? whole : 0;
  }

  #take(name: string): boolean {
    const known = this.#known.has(name);
    this.#known.add(name);
    return known;
  }
}
