import { Session } from "#agents";
import {
  AgentId,
  NotFoundError,
  Partition,
  SessionId,
  UserId,
  type Agent,
  type Page,
  type PageRequest,
  type RequestMetadata,
  type SessionHead,
} from "#kernel";
import { Conversation, type ConversationDeps, type Owner } from "./conversation.ts";

/** A conversation to begin. */
export interface NewConversation extends Owner {
  /** Id of the conversation. The same id again is the same conversation of the user. Default: a fresh one. */
  readonly id?: string;
  /** The channel of the conversation, for example `slack`. Default: none. */
  readonly channel?: string;
  readonly title?: string;
  readonly metadata?: RequestMetadata;
}

/** The conversations to list. */
export interface ConversationFilter extends Owner {
  /** Only those that were begun with this agent. */
  readonly agent?: string;
  /** Whether conversations of trees that were started without a session are included. Default: false. */
  readonly unnamed?: boolean;
}

/** The conversations of a runtime. Requires a store. */
export class Conversations {
  readonly #host: () => ConversationDeps;

  constructor(host: () => ConversationDeps) {
    this.#host = host;
  }

  /** Begins a conversation with an agent. */
  async create<Output>(
    agent: Agent<Output>,
    { id, channel, title, metadata, ...owner }: NewConversation = {},
  ): Promise<Conversation<Output>> {
    const host = this.#host();
    const session = this.#session(host, id ?? host.uuid(), owner);
    await session.open({
      startedAt: host.clock.now(),
      agentId: agent.id,
      channel: channel ?? null,
      title: title ?? null,
      metadata: metadata ?? {},
      isNamed: true,
    });
    return new Conversation(host, agent, { session, owner, channel: channel ?? null });
  }

  /** Returns an existing conversation, of this or another process. @throws NotFoundError */
  async get(id: string, owner: Owner = {}): Promise<Conversation> {
    const host = this.#host();
    const session = this.#session(host, id, owner);
    const head = await session.head();
    return new Conversation(host, host.agentOf(head), { session, owner, channel: head.channel });
  }

  /** Lists the conversations of a tenant, or of one of its users, newest first. */
  list(
    { tenant, user, agent, unnamed }: ConversationFilter = {},
    page: PageRequest = { size: 50 },
  ): Promise<Page<SessionHead>> {
    const filter = {
      ...(user !== undefined && { userId: UserId.of(user) }),
      ...(agent !== undefined && { agentId: AgentId.of(agent) }),
      ...(unnamed !== undefined && { unnamed }),
    };
    return this.#host().store.sessions.list(Partition.of(tenant), filter, page);
  }

  #session({ store }: ConversationDeps, id: string, { tenant, user }: Owner): Session {
    const userId = user === undefined ? null : UserId.of(user);
    return new Session(store.sessions, Partition.of(tenant), { id: SessionId.of(id), userId });
  }
}

/** Returns the agent that a conversation was begun with. @throws NotFoundError if the program has none of that name. */
export function agentOfHead(head: SessionHead, find: (type: string) => Agent): Agent {
  if (head.agentId === null) throw new NotFoundError({ what: "agent of the session", id: head.id });
  return find(AgentId.type(head.agentId));
}
