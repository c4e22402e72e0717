import {
  AgentId,
  CancellationError,
  encodeError,
  EntryId,
  SessionBusyError,
  type Agent,
  type Clock,
  type ErrorData,
  type ExtensionContext,
  type Model,
  type RunScope,
  type Store,
  type TreeId,
} from "#kernel";
import { Session } from "#agents";
import { callLimited, createMoves, type ConversationAccess, type ExtensionPort } from "#run";
import type { Owner } from "./conversation.ts";
import type { ConversationMove } from "./conversation-move.ts";
import type { Conversations } from "./conversations.ts";

/** A handler of an extension that failed. */
export interface ExtensionErrorRecord {
  readonly extension: string;
  readonly agent: string;
  readonly at: number;
  /** It may hold content. */
  readonly error: ErrorData;
}

/** The part of a runtime that extensions can use. */
interface ExtendedRuntime {
  readonly agents: readonly Agent[];
  readonly sessions: Conversations;
  turn(session: string, owner: Owner): Promise<TreeId | null>;
  whileIdle(session: string, owner: Owner, change: () => Promise<void>): Promise<void>;
  run(id: string, options: { readonly tenant?: string }): { cancel(reason: string): Promise<unknown> };
  drain(): Promise<void>;
  reload(agent: Agent): Promise<void>;
}

/** The dependencies of {@link RuntimeExtensions}. */
interface ExtensionDeps {
  readonly agentOf: (type: string) => Agent;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** Null: there is none. */
  readonly store: Store | null;
  readonly workingDirectory?: string | undefined;
}

const keptErrors = 100;

/** The scope of a conversation. */
type ConversationScope = Pick<RunScope, "tenantId" | "userId" | "sessionId" | "channel">;

/** The runtime's functions for extensions, and the list of their failures. */
export class RuntimeExtensions implements ExtensionPort {
  readonly #runtime: ExtendedRuntime;
  readonly #deps: ExtensionDeps;
  #errors: readonly ExtensionErrorRecord[] = [];

  constructor(runtime: ExtendedRuntime, deps: ExtensionDeps) {
    this.#runtime = runtime;
    this.#deps = deps;
  }

  /** The latest 100 failures in this process. */
  get errors(): readonly ExtensionErrorRecord[] {
    return this.#errors;
  }

  get models(): ReadonlyMap<string, Model> {
    const models = this.#runtime.agents.flatMap(({ model }) => (model ? [model] : []));
    return new Map(models.map((model) => [model.id, model]));
  }

  noteFailure({ extension, error, agentId }: Parameters<ExtensionPort["noteFailure"]>[0]): void {
    const record = { extension, agent: AgentId.type(agentId), at: this.#deps.clock.now(), error };
    this.#errors = [...this.#errors.slice(1 - keptErrors), record];
  }

  async abort({ tenantId, runId }: Parameters<ExtensionPort["abort"]>[0], reason: string): Promise<void> {
    await this.#runtime.run(runId, tenantId === null ? {} : { tenant: tenantId }).cancel(reason);
  }

  shutdown(): void {
    this.#runtime.drain().catch(() => undefined);
  }

  conversation(place: ConversationScope, agentId: AgentId): ConversationAccess {
    return createAccess(this.#runtime, this.#deps, { ...place, agentId });
  }

  /** Runs the extensions that may cancel a move of a conversation. @throws CancellationError */
  async beforeMove(
    agent: Agent<unknown>,
    place: ConversationScope,
    { moment, move }: ConversationMove,
  ): Promise<void> {
    const { agentOf, clock } = this.#deps;
    const { policy, model } = agentOf(AgentId.type(agent.id));
    for (const { extension, on } of policy?.interceptions ?? []) {
      const handle = moment === "sessionBeforeFork" ? on.sessionBeforeFork : on.sessionBeforeSwitch;
      if (!handle) continue;
      const isCancelled = await callLimited({ clock }, async (signal) => {
        const context = this.#moveContext(place, { signal, model, agentId: agent.id });
        const reply: unknown = await Reflect.apply(handle, undefined, [move, context]);
        return typeof reply === "object" && reply !== null && "cancel" in reply && reply.cancel === true;
      }).catch((error: unknown) => {
        this.noteFailure({ extension, error: encodeError(error), agentId: agent.id });
        return false;
      });
      if (isCancelled) throw new CancellationError({ reason: `extension ${extension}: ${moment}` });
    }
  }

  /** Creates the context of a handler that may cancel a move: there is no run, and the conversation is being moved. */
  #moveContext(
    place: ConversationScope,
    { signal, model, agentId }: { signal: AbortSignal; model: Model | undefined; agentId: AgentId },
  ): ExtensionContext {
    const access = this.conversation(place, agentId);
    const { sessionId: id } = place;
    return {
      ...createMoves(access, { session: id, isBusy: true }),
      cwd: this.#deps.workingDirectory ?? null,
      signal,
      model,
      models: this.models,
      session: {
        id,
        entries: () => access.entries(),
        leaf: () => access.leaf(),
        append: (entry) => access.append(entry),
      },
      isIdle: () => access.isIdle(),
      hasPendingMessages: () => false,
      abort: async () => undefined,
      shutdown: () => this.shutdown(),
      getContextUsage: () => ({ tokens: 0, window: model?.contextWindow ?? null }),
      getSystemPrompt: () => "",
      compact: () => undefined,
    };
  }
}

/** Creates the access to a conversation from outside its runs. */
function createAccess(
  runtime: ExtendedRuntime,
  { store, agentOf, clock, uuid }: ExtensionDeps,
  { tenantId, userId, sessionId: id, channel, agentId }: ConversationScope & { readonly agentId: AgentId },
): ConversationAccess {
  const { sessions } = runtime;
  const owner: Owner = {
    ...(tenantId !== null && { tenant: tenantId }),
    ...(userId !== null && { user: userId }),
  };
  const stored = store && new Session(store.sessions, { tenantId }, { userId, id });
  const isIdle = async (): Promise<boolean> => (await runtime.turn(id, owner)) === null;
  const whenIdle = async <T>(act: () => Promise<T>): Promise<T> => {
    if (!(await isIdle())) throw new SessionBusyError({ session: id });
    return act();
  };
  const agent = (): Agent => agentOf(AgentId.type(agentId));
  return {
    async *entries() {
      if (stored) yield* stored.path();
    },
    leaf: async () => (stored ? stored.leaf() : null),
    append: (entry) =>
      runtime.whileIdle(id, owner, async () => {
        await stored?.append([{ ...entry, id: EntryId.of(uuid()), at: clock.now() }]);
      }),
    isIdle,
    waitForIdle: async () => (await sessions.get(id, owner)).waitForIdle(),
    runCompaction: async (options) => (await sessions.get(id, owner)).runCompaction(options),
    reload: () => whenIdle(() => runtime.reload(agent())),
    newSession: (options) =>
      whenIdle(async () => {
        const where = channel === null ? {} : { channel };
        return (await sessions.create(agent(), { ...owner, ...where, ...options })).id;
      }),
    fork: async (entry) => (await (await sessions.get(id, owner)).fork(entry)).id,
    switchSession: (to) => whenIdle(async () => (await (await sessions.get(id, owner)).switchTo(to)).id),
  };
}
