import { exportSession, readPromptWindow, Session } from "#agents";
import {
  EntryId,
  RunId,
  SessionId,
  TreeId,
  Usage,
  type Agent,
  type ChatMessage,
  type Clock,
  type Input,
  type Page,
  type RunResult,
  type RunScope,
  type SessionHead,
  type Store,
} from "#kernel";
import type { RunDelta } from "#deltas";
import type { ConversationMove } from "./conversation-move.ts";
import type { RunHandle } from "./run-handle.ts";
import type { StartOptions } from "./start-options.ts";

/** The options of a turn: those of a start, without the fields that the conversation determines. */
export type TurnOptions = Omit<StartOptions, "session" | "user" | "tenant" | "channel">;

/** The options of a turn with a streamed answer. */
export interface StreamOptions extends TurnOptions {
  /** The effect of leaving the loop on the turn: cancel it, or let it continue. Default: cancel. */
  readonly onBreak?: "cancel" | "detach";
}

/** The options of a compaction that a user requests. */
export interface CompactionStart extends Pick<
  TurnOptions,
  "id" | "budget" | "onBusy" | "priority" | "spawn"
> {
  /** Instructions added to those of the summarizer. Default: none. */
  readonly instructions?: string | null;
}

/** The current activity of a conversation. */
export type Phase = "idle" | "turn" | "compaction";

/** A message of a conversation. */
export type ConversationMessage = ChatMessage & { readonly id: EntryId; readonly at: number };

/** A part of a conversation's messages. */
export interface MessagesRequest {
  /** Maximum number of messages. Default: 50. */
  readonly size?: number;
  /** The `next` of the previous page. Absent: from the newest. */
  readonly after?: string;
}

/** The size of the context that the next turn begins with, in tokens. */
export interface ContextUsage {
  /** Tokens reported by the provider for the last call; an estimate if it reported none. */
  readonly tokens: number;
  /** The tokens that fit into a call of the agent's model. Null: unknown. */
  readonly window: number | null;
}

/** The part of a runtime that conversations need. */
export interface ConversationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly uuid: () => string;
  /** Aborted when the runtime is closed, with the error for waiting callers. */
  readonly closed: AbortSignal;
  start<Output>(agent: Agent<Output>, input: Input, options: StartOptions): Promise<RunHandle<Output>>;
  /** Starts a tree that compacts a conversation. */
  compact(
    agent: Agent<unknown>,
    order: { readonly instructions: string | null },
    options: StartOptions,
  ): Promise<RunHandle<unknown>>;
  /** Whether a tree that has the turn compacts the conversation. */
  isCompacting(tree: TreeId, owner: Owner): Promise<boolean>;
  /** Returns the tree that has the turn. Null if none has. */
  turn(session: string, owner: Owner): Promise<TreeId | null>;
  /** Changes an idle conversation. No turn begins meanwhile. @throws SessionBusyError */
  whileIdle<Result>(session: string, owner: Owner, change: () => Promise<Result>): Promise<Result>;
  /** Erases a conversation and all traces of its turns. */
  erase(session: SessionId, owner: Owner): Promise<void>;
  /** Yields the pieces of a tree's answers, until `over` resolves. The tree need not exist yet. */
  deltas(tree: TreeId, owner: Owner, over: () => Promise<unknown>): AsyncGenerator<RunDelta, void>;
  /** Drops the cached texts of the agent's prompt sections in this process. */
  reload(agent: Agent<unknown>): Promise<void>;
  /** Runs the agent's extensions that may cancel a move of the conversation. @throws CancellationError */
  beforeMove(
    agent: Agent<unknown>,
    place: Pick<RunScope, "tenantId" | "userId" | "sessionId" | "channel">,
    move: ConversationMove,
  ): Promise<void>;
  /** Returns the agent of a conversation. @throws NotFoundError */
  agentOf(head: SessionHead): Agent;
}

/** The tenant and the user of a conversation. Default: none. */
export interface Owner {
  readonly tenant?: string;
  readonly user?: string;
}

/** The streamed answer to a message. It can be read once. */
export interface TurnStream<Output = unknown> extends AsyncIterable<RunDelta> {
  /** The run of the turn, once it is accepted. */
  readonly run: Promise<RunHandle<Output>>;
  readonly result: Promise<RunResult<Output>>;
}

/**
 * One conversation of a user with an agent. Each message is a turn, and each turn is a separate tree. A turn sees the
 * earlier messages. Its own messages are stored together when it has ended. A failed turn is dropped, unless a tool had
 * side effects.
 *
 * The object holds no state: any process may have the turn.
 */
export class Conversation<Output = unknown> {
  readonly id: SessionId;
  readonly agent: Agent<Output>;
  readonly #host: ConversationDeps;
  readonly #owner: Owner;
  readonly #session: Session;
  readonly #channel: string | null;

  constructor(host: ConversationDeps, agent: Agent<Output>, { session, owner, channel }: ConversationRef) {
    this.#host = host;
    this.agent = agent;
    this.id = session.id;
    this.#session = session;
    this.#owner = owner;
    this.#channel = channel;
  }

  /** Begins a turn. @throws SessionBusyError while another one has not ended, unless `onBusy` is `queue`. */
  start(input: Input, options: TurnOptions = {}): Promise<RunHandle<Output>> {
    const channel = this.#channel === null ? {} : { channel: this.#channel };
    return this.#host.start(this.agent, input, {
      ...options,
      ...this.#owner,
      ...channel,
      session: this.id,
    });
  }

  /** Begins a turn, and waits until it has ended and the conversation is idle. @throws SessionBusyError */
  async invoke(input: Input, options: TurnOptions = {}): Promise<RunResult<Output>> {
    return this.#waitForResult(await this.start(input, options));
  }

  /**
   * Begins a turn, and yields the pieces of its root's answers as they come. The loop ends when the conversation is
   * idle. Leaving it earlier cancels the turn. An agent that calls no model yields nothing.
   */
  stream(input: Input, { onBreak = "cancel", ...options }: StreamOptions = {}): TurnStream<Output> {
    const id = TreeId.of(options.id ?? this.#host.uuid());
    const over = Promise.withResolvers<unknown>();
    // Subscribes before the turn begins: in one process, models stream only while a subscriber exists.
    const deltas = this.#host.deltas(id, this.#owner, () => over.promise);
    const first = deltas.next();
    const run = this.start(input, { ...options, id });
    const result = run.then((started) => this.#waitForResult(started));
    result.then(over.resolve, over.reject);
    // Callers may read only the pieces, or only `result`, so the unread promise must not count as unhandled.
    for (const unread of [first, result]) unread.catch(() => undefined);
    const stop = async (): Promise<void> => {
      if (onBreak === "detach") return;
      await (await run).cancel();
      await result;
    };
    return { run, result, [Symbol.asyncIterator]: () => pieces(RunId.root(id), { deltas, first, stop }) };
  }

  /** Returns the messages of the conversation, newest first. */
  async messages({ size = 50, after }: MessagesRequest = {}): Promise<Page<ConversationMessage>> {
    if (!Number.isSafeInteger(size) || size < 1 || size > 1_000)
      throw new TypeError(`page size must be an integer from 1 to 1000, got ${size}`);
    const from = after === undefined ? await this.#session.leaf() : EntryId.of(after);
    const items: ConversationMessage[] = [];
    for await (const entry of this.#session.path(from)) {
      if (entry.type !== "message") continue;
      if (items.length === size) return { items, next: entry.id };
      items.push({ ...entry.message, id: entry.id, at: entry.at });
    }
    return { items, next: null };
  }

  /**
   * Makes the next turn follow an earlier entry. Null: none. Later entries stay, on a separate path. @throws
   * SessionBusyError
   */
  navigate(entry: EntryId | null): Promise<void> {
    return this.#whileIdle(() => this.#session.navigate(entry));
  }

  /**
   * Creates a conversation with everything up to an entry, by default all of it. @throws SessionBusyError,
   * NotFoundError, and CancellationError if an extension cancels it.
   */
  async fork(entry?: EntryId): Promise<Conversation<Output>> {
    const head = await this.#whileIdle(() => this.#session.head());
    const at = entry ?? head.leaf;
    // Extensions may take their time, and may add an entry: the conversation is not held meanwhile.
    await this.#beforeMove({ moment: "sessionBeforeFork", move: { session: this.id, entry: at } });
    const copy = { ...head, id: SessionId.of(this.#host.uuid()), startedAt: this.#host.clock.now() };
    if (at !== null)
      return this.#whileIdle(async () => this.#with(this.agent, await this.#session.fork(at, copy), head));
    const session = this.#toSession(copy.id);
    await session.open({ ...copy, isNamed: true });
    return this.#with(this.agent, session, head);
  }

  /**
   * Opens another conversation of the same user. @throws NotFoundError, and CancellationError if an extension cancels
   * it.
   */
  async switchTo(id: string): Promise<Conversation> {
    const session = this.#toSession(SessionId.of(id));
    const head = await session.head();
    await this.#beforeMove({ moment: "sessionBeforeSwitch", move: { session: this.id, to: session.id } });
    return this.#with(this.#host.agentOf(head), session, head);
  }

  /**
   * Summarizes the oldest part of the conversation now, in a separate tree. Returns the entry with the summary. Null:
   * there is nothing to summarize, or it was refused or failed. @throws SessionBusyError
   */
  async runCompaction(options: CompactionStart = {}): Promise<EntryId | null> {
    const { output } = await this.#waitForResult(await this.startCompaction(options));
    return typeof output === "string" ? EntryId.of(output) : null;
  }

  /**
   * Begins a compaction without waiting for it. Its output is the entry with the summary, or null. @throws
   * SessionBusyError
   */
  startCompaction({ instructions = null, ...options }: CompactionStart = {}): Promise<RunHandle<unknown>> {
    const channel = this.#channel === null ? {} : { channel: this.#channel };
    const place = { ...this.#owner, ...channel, session: this.id };
    return this.#host.compact(this.agent, { instructions }, { ...options, ...place });
  }

  /** Returns whether a turn or a compaction is running. */
  async phase(): Promise<Phase> {
    const turn = await this.#turn();
    if (turn === null) return "idle";
    return (await this.#host.isCompacting(turn, this.#owner)) ? "compaction" : "turn";
  }

  /** Resolves when no turn is running, and none waits. @throws RuntimeClosedError if the runtime is closed before. */
  waitForIdle(): Promise<void> {
    return this.#pollTurn((turn) => turn === null);
  }

  /**
   * Reloads the files and other texts of the agent's system prompt in this process, from the next turn on. A running
   * turn keeps its prompt.
   */
  reload(): Promise<void> {
    return this.#host.reload(this.agent);
  }

  /** Returns the size of the context when the next turn begins. */
  async contextUsage(): Promise<ContextUsage> {
    const at = await this.#session.leaf();
    const window = this.agent.model?.contextWindow ?? null;
    if (at === null) return { tokens: 0, window };
    const { told, tokens } = await readPromptWindow(this.#session, { at });
    return { tokens: told ? Usage.tokens(told.usage) : tokens, window };
  }

  /** Returns title, times, owner and newest entry. @throws NotFoundError */
  head(): Promise<SessionHead> {
    return this.#session.head();
  }

  rename(title: string | null): Promise<void> {
    return this.#session.rename(title);
  }

  /**
   * Erases the conversation and all traces of its turns: messages, results, steps, cached answers, and the content of
   * events and approvals. Cancels a running turn. The runs stay in lists, without content.
   */
  delete(): Promise<void> {
    return this.#host.erase(this.id, this.#owner);
  }

  /** Yields the whole conversation as JSON lines: a header, then every entry. */
  export(): AsyncIterable<string> {
    return exportSession(this.#session);
  }

  /** Returns the result of a turn, once it has ended and the conversation is idle. */
  async #waitForResult<Result>(run: RunHandle<Result>): Promise<RunResult<Result>> {
    const result = await run.result();
    await this.#pollTurn((turn) => turn !== run.treeId);
    return result;
  }

  #turn(): Promise<TreeId | null> {
    return this.#host.turn(this.id, this.#owner);
  }

  #beforeMove(move: ConversationMove): Promise<void> {
    const { partition, key } = this.#session;
    const place = { ...partition, userId: key.userId, sessionId: this.id, channel: this.#channel };
    return this.#host.beforeMove(this.agent, place, move);
  }

  #whileIdle<Result>(change: () => Promise<Result>): Promise<Result> {
    return this.#host.whileIdle(this.id, this.#owner, change);
  }

  /** Polls with growing intervals: a turn takes seconds, its end some milliseconds. */
  async #pollTurn(isGood: (turn: TreeId | null) => boolean): Promise<void> {
    const { clock, closed } = this.#host;
    for (let waitMs = 2; !isGood(await this.#turn()); waitMs = Math.min(2 * waitMs, 1_000))
      await clock.waitUntil(clock.now() + waitMs, closed);
  }

  #toSession(id: SessionId): Session {
    const { store, partition, key } = this.#session;
    return new Session(store, partition, { id, userId: key.userId });
  }

  #with<Other>(agent: Agent<Other>, session: Session, { channel }: SessionHead): Conversation<Other> {
    return new Conversation(this.#host, agent, { session, owner: this.#owner, channel });
  }
}

/** A stored conversation, with its owner. */
export interface ConversationRef {
  readonly session: Session;
  readonly owner: Owner;
  readonly channel: string | null;
}

/** The pieces of a turn's answers. */
interface Pieces {
  /** The pieces of the whole tree. The first one was already requested. */
  readonly deltas: AsyncGenerator<RunDelta, void>;
  readonly first: Promise<IteratorResult<RunDelta, void>>;
  /** Called when the reader leaves before the end. */
  readonly stop: () => Promise<void>;
}

async function* pieces(root: RunId, { deltas, first, stop }: Pieces): AsyncGenerator<RunDelta, void> {
  let isLeft = true;
  try {
    for (let next = await first; !next.done; next = await deltas.next())
      if (next.value.runId === root) yield next.value;
    isLeft = false;
  } catch (error) {
    // A slow reader is cut off. That is not a request to stop the turn.
    isLeft = false;
    throw error;
  } finally {
    await deltas.return();
    if (isLeft) await stop();
  }
}
