import { Json, type Fact, type FoundMemory } from "#kernel";
import type { SharedBlock } from "#runtime";
import type { Http } from "./http.ts";
import { search } from "./search.ts";

/** User whose memory is read. Default: the user of the request, or the anonymous user. */
export interface MemoryUser {
  readonly user?: string | undefined;
}

/** The outcome of forgetting facts. */
export interface ForgottenFacts {
  /** Number of facts. */
  readonly forgotten: number;
  /** Conversations whose messages contain a value of the facts. They are kept. */
  readonly conversations: readonly string[];
}

/** The memory of agents, over HTTP. Every method throws a {@link ClientError}. */
export class ClientMemory {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Facts that hold now, by key. With `history`: earlier and later ones, too. */
  async facts(
    query: MemoryUser & { readonly key?: string | undefined; readonly history?: boolean } = {},
  ): Promise<readonly Fact[]> {
    return (await this.#http.list<Fact>(`/memory/facts${search(query)}`)).items;
  }

  /** Returns the blocks of the user. A key that is not bound to a user also reads the blocks shared by all users. */
  async blocks(query: MemoryUser = {}): Promise<readonly SharedBlock[]> {
    return (await this.#http.list<SharedBlock>(`/memory/blocks${search(query)}`)).items;
  }

  /** Searches facts and messages of earlier turns by keywords, best match first. Default limit: 20. */
  async recall(
    text: string,
    options: MemoryUser & { readonly limit?: number } = {},
  ): Promise<readonly FoundMemory[]> {
    const found = await this.#http.post("/memory/recall", { ...options, text });
    return Json.as<{ readonly items: readonly FoundMemory[] }>(found).items;
  }

  /** Erases one fact, or all of a key with their history, and its values in recorded steps. */
  async forget(
    what: { readonly key: string } | { readonly fact: string },
    options: MemoryUser = {},
  ): Promise<ForgottenFacts> {
    return Json.as(await this.#http.post("/memory/forget", { ...options, ...what }));
  }

  /** Facts and blocks as JSON lines, in pieces of any size. */
  export(query: MemoryUser = {}): AsyncGenerator<string, void> {
    return this.#http.lines(`/memory/export${search(query)}`);
  }
}
