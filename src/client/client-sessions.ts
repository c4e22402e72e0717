import { Json, type Page, type SessionHead } from "#kernel";
import type { ConversationFilter, NewConversation } from "#runtime";
import { ClientConversation } from "./client-conversation.ts";
import type { Http } from "./http.ts";

/** The settings of a conversation that is begun over HTTP. Tenant and user follow from the key and the client. */
export type SessionSettings = Omit<NewConversation, "tenant" | "user">;

/** The conversations to list, and the page. */
export type SessionQuery = Omit<ConversationFilter, "tenant"> & {
  readonly size?: number;
  /** The `next` of the page before. */
  readonly after?: string;
};

/** The conversations of a server. Every method throws a {@link ClientError}. */
export class ClientSessions {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Begins a conversation; the same id again is the same one. `Output`: `OutputOf<typeof agent>`. */
  async create<Output = Json>(
    agent: string,
    settings: SessionSettings = {},
  ): Promise<ClientConversation<Output>> {
    const { id } = Json.as<{ readonly id: string }>(
      await this.#http.post("/sessions", { ...settings, agent }),
    );
    return new ClientConversation(this.#http, id);
  }

  /** Finds a conversation that was begun before. */
  async get<Output = Json>(id: string): Promise<ClientConversation<Output>> {
    const conversation = new ClientConversation<Output>(this.#http, id);
    await conversation.head();
    return conversation;
  }

  /** Conversations, newest first. */
  list(query: SessionQuery = {}): Promise<Page<SessionHead>> {
    const given = Object.entries(query).map(([name, value]) => [name, String(value)]);
    return this.#http.list(`/sessions?${new URLSearchParams(Object.fromEntries(given)).toString()}`);
  }
}
