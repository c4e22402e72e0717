import { exportSession, readPromptWindow, Session } from "#agents";
import {
  EntryId,
  RunId,
  SessionBusyError,
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

/** The options of a turn: those of a start, without what the conversation says. */
export type TurnOptions = Omit<StartOptions, "session" | "user" | "tenant" | "channel">;

/** The options of a turn whose answer is watched as it comes. */
export interface StreamOptions extends TurnOptions {
  /** The effect of leaving the loop on the turn: it is cancelled, or goes on. Default cancel. */
  readonly onBreak?: "cancel" | "detach";
}

/** The options of a compaction that a user asks for. */
export interface CompactionStart extends Pick<
  TurnOptions,
  "id" | "budget" | "onBusy" | "priority" | "spawn"
> {
  /** Added to what the summariser is told. Default: nothing. */
  readonly instructions?: string | null;
}

/** The work that a conversation is at. */
export type Phase = "idle" | "turn" | "compaction";

/** A message of a conversation. */
export type ConversationMessage = ChatMessage & { readonly id: EntryId; readonly at: number };

/** A part of a conversation's messages. */
export interface MessagesRequest {
  /** The most messages. Default 50. */
  readonly size?: number;
  /** The `next` of the page before. Absent: from the newest. */
  readonly after?: string;
}

/** The tokens of a conversation, as the next turn begins with them. */
export interface ContextUsage {
  /** As the provider told of the last call; where it told nothing, an estimate. */
  readonly tokens: number;
  /** The tokens that fit into a call of the agent's model; null: not known. */
  readonly window: number | null;
}

/** The part of a runtime that conversations need. */
export interface ConversationHost {
  readonly store: Store;
  readonly clock: Clock;
  readonly uuid: () => string;
  start<Output>(agent: Agent<Output>, input: Input, options: StartOptions): Promise<RunHandle<Output>>;
  /** Starts a tree that compacts a conversation. */
  compact(
    agent: Agent<unknown>,
    order: { readonly instructions: string | null },
    options: StartOptions,
  ): Promise<RunHandle<unknown>>;
  /** Whether a tree that has the turn compacts the conversation. */
  isCompacting(tree: TreeId, owner: Owner): Promise<boolean>;
  /** The tree that has the turn; null if none has. */
  turn(session: string, owner: Owner): Promise<TreeId | null>;
  /** The pieces of the answers of a tree, which need not be there yet, until `over` resolves. */
  deltas(tree: TreeId, owner: Owner, over: () => Promise<unknown>): AsyncGenerator<RunDelta, void>;
  /** Drops the texts of the agent's prompt sections that this process keeps. */
  reload(agent: Agent<unknown>): Promise<void>;
  /** Lets extensions of the agent cancel a move of the conversation. @throws CancellationError */
  beforeMove(
    agent: Agent<unknown>,
    place: Pick<RunScope, "tenantId" | "userId" | "sessionId" | "channel">,
    move: ConversationMove,
  ): Promise<void>;
  /** @throws NotFoundError */
  agentOf(head: SessionHead): Agent;
}

/** The tenant and the user of a conversation. Default: none. */
export interface Owner {
  readonly tenant?: string;
  readonly user?: string;
}

/** The answer to a message, piece by piece. It can be read once. */
export interface TurnStream<Output = unknown> extends AsyncIterable<RunDelta> {
  /** The run of the turn, once it is accepted. */
  readonly run: Promise<RunHandle<Output>>;
  readonly result: Promise<RunResult<Output>>;
}

/**
 * One conversation of a user with an agent. Each message is a turn, and each turn is a tree of its own: it is shown what
 * was said before, and what it says is kept, in one piece, when it is over. A turn that fails leaves no trace, unless a
 * tool has acted outside.
 *
 * Holds nothing itself: any process may have the turn.
 */
export class Conversation<Output = unknown> {
  readonly id: SessionId;
  readonly agent: Agent<Output>;
  readonly #host: ConversationHost;
  readonly #owner: Owner;
  readonly #session: Session;
  readonly #channel: string | null;

  constructor(host: ConversationHost, agent: Agent<Output>, { session, owner, channel }: ConversationPlace) {
    this.#host = host;
    this.agent = agent;
    this.id = session.id;
    this.#session = session;
    this.#owner = owner;
    this.#channel = channel;
  }

  /** Begins a turn. @throws SessionBusyError while another one has not ended, unless `onBusy` says to queue. */
  start(input: Input, options: TurnOptions = {}): Promise<RunHandle<Output>> {
    const channel = this.#channel === null ? {} : { channel: this.#channel };
    return this.#host.start(this.agent, input, {
      ...options,
      ...this.#owner,
      ...channel,
      session: this.id,
    });
  }

  /** Begins a turn, and waits until it is over and the conversation is free again. @throws SessionBusyError */
  async invoke(input: Input, options: TurnOptions = {}): Promise<RunResult<Output>> {
    return this.#settled(await this.start(input, options));
  }

  /**
   * Begins a turn, and yields the pieces of its root's answers as they come. The loop ends when the conversation is free
   * again. Leaving it earlier cancels the turn. An agent that calls no model while it answers yields nothing.
   */
  stream(input: Input, { onBreak = "cancel", ...options }: StreamOptions = {}): TurnStream<Output> {
    const id = TreeId.of(options.id ?? this.#host.uuid());
    const over = Promise.withResolvers<unknown>();
    // Reads before the turn begins: in one process, models stream only while a reader is there.
    const deltas = this.#host.deltas(id, this.#owner, () => over.promise);
    const first = deltas.next();
    const run = this.start(input, { ...options, id });
    const result = run.then((started) => this.#settled(started));
    result.then(over.resolve, over.reject);
    // Those who only watch need not wait for `result`, nor read pieces those who only wait for it.
    for (const unread of [first, result]) unread.catch(() => undefined);
    const stop = async (): Promise<void> => {
      if (onBreak === "detach") return;
      await (await run).cancel();
      await result;
    };
    return { run, result, [Symbol.asyncIterator]: () => pieces(RunId.root(id), { deltas, first, stop }) };
  }

  /** The messages of the conversation as it stands, newest first. */
  async messages({ size = 50, after }: MessagesRequest = {}): Promise<Page<ConversationMessage>> {
    if (!Number.isSafeInteger(size) || size < 1 || size > 1_000)
      throw new TypeError(`not the size of a page: ${size} (1 to 1,000)`);
    const from = after === undefined ? await this.#session.leaf() : EntryId.of(after);
    const items: ConversationMessage[] = [];
    for await (const entry of this.#session.path(from)) {
      if (entry.type !== "message") continue;
      if (items.length === size) return { items, next: entry.id };
      items.push({ ...entry.message, id: entry.id, at: entry.at });
    }
    return { items, next: null };
  }

  /** Lets the next turn follow an earlier entry; null: none. What came after it stays, on a path of its own. @throws SessionBusyError */
  async navigate(entry: EntryId | null): Promise<void> {
    await this.#expectIdle();
    await this.#session.navigate(entry);
  }

  /**
   * A new conversation with everything up to an entry, by default all of it. @throws SessionBusyError, NotFoundError, and
   * CancellationError if an extension cancels it.
   */
  async fork(entry?: EntryId): Promise<Conversation<Output>> {
    await this.#expectIdle();
    const head = await this.#session.head();
    const at = entry ?? head.leaf;
    await this.#beforeMove({ moment: "sessionBeforeFork", move: { session: this.id, entry: at } });
    const copy = { ...head, id: SessionId.of(this.#host.uuid()), startedAt: this.#host.clock.now() };
    if (at !== null) return this.#with(this.agent, await this.#session.fork(at, copy), head);
    const session = this.#beside(copy.id);
    await session.open({ ...copy, isNamed: true });
    return this.#with(this.agent, session, head);
  }

  /** Another conversation of the same user. @throws NotFoundError, and CancellationError if an extension cancels it. */
  async switchTo(id: string): Promise<Conversation> {
    const session = this.#beside(SessionId.of(id));
    const head = await session.head();
    await this.#beforeMove({ moment: "sessionBeforeSwitch", move: { session: this.id, to: session.id } });
    return this.#with(this.#host.agentOf(head), session, head);
  }

  /**
   * Has the oldest part of the conversation summed up now, in a tree of its own. Returns the entry with the summary; null:
   * there is nothing to sum up, or it was refused or failed. @throws SessionBusyError
   */
  async runCompaction(options: CompactionStart = {}): Promise<EntryId | null> {
    const { output } = await this.#settled(await this.startCompaction(options));
    return typeof output === "string" ? EntryId.of(output) : null;
  }

  /** Begins a compaction, and does not wait. Its output is the entry with the summary, or null. @throws SessionBusyError */
  startCompaction({ instructions = null, ...options }: CompactionStart = {}): Promise<RunHandle<unknown>> {
    const channel = this.#channel === null ? {} : { channel: this.#channel };
    const place = { ...this.#owner, ...channel, session: this.id };
    return this.#host.compact(this.agent, { instructions }, { ...options, ...place });
  }

  /** Whether a turn is going on, or a compaction: after a turn, or on its own. */
  async phase(): Promise<Phase> {
    const turn = await this.#turn();
    if (turn === null) return "idle";
    return (await this.#host.isCompacting(turn, this.#owner)) ? "compaction" : "turn";
  }

  /** Resolves when no turn is going on, and none waits. */
  waitForIdle(): Promise<void> {
    return this.#until((turn) => turn === null);
  }

  /**
   * Has the files and other texts of the agent's system prompt read again, from the next turn on, by this process. A turn
   * that is going on keeps its prompt.
   */
  reload(): Promise<void> {
    return this.#host.reload(this.agent);
  }

  /** How full the model's context will be when the next turn begins. */
  async contextUsage(): Promise<ContextUsage> {
    const at = await this.#session.leaf();
    const window = this.agent.model?.contextWindow ?? null;
    if (at === null) return { tokens: 0, window };
    const { told, tokens } = await readPromptWindow(this.#session, { at });
    return { tokens: told ? Usage.tokens(told.usage) : tokens, window };
  }

  /** Name, times, owner and newest entry. @throws NotFoundError */
  head(): Promise<SessionHead> {
    return this.#session.head();
  }

  rename(title: string | null): Promise<void> {
    return this.#session.rename(title);
  }

  /** Removes the conversation with everything that was said in it. The runs of its turns stay in lists. @throws SessionBusyError */
  async delete(): Promise<void> {
    await this.#expectIdle();
    await this.#session.remove();
  }

  /** The whole conversation as JSON lines: a header, then every entry. */
  export(): AsyncIterable<string> {
    return exportSession(this.#session);
  }

  /** The result of a turn, once it is over and the conversation is free again. */
  async #settled<Result>(run: RunHandle<Result>): Promise<RunResult<Result>> {
    const result = await run.result();
    await this.#until((turn) => turn !== run.treeId);
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

  async #expectIdle(): Promise<void> {
    if ((await this.#turn()) !== null) throw new SessionBusyError({ session: this.id });
  }

  /** Asks again and again, ever more seldom: a turn takes seconds, its end some milliseconds. */
  async #until(isGood: (turn: TreeId | null) => boolean): Promise<void> {
    const { clock } = this.#host;
    for (let waitMs = 2; !isGood(await this.#turn()); waitMs = Math.min(2 * waitMs, 1_000))
      await clock.waitUntil(clock.now() + waitMs);
  }

  #beside(id: SessionId): Session {
    const { store, partition, key } = this.#session;
    return new Session(store, partition, { id, userId: key.userId });
  }

  #with<Other>(agent: Agent<Other>, session: Session, { channel }: SessionHead): Conversation<Other> {
    return new Conversation(this.#host, agent, { session, owner: this.#owner, channel });
  }
}

/** A conversation in the store, with those who hold it. */
export interface ConversationPlace {
  readonly session: Session;
  readonly owner: Owner;
  readonly channel: string | null;
}

/** The pieces of a turn's answers. */
interface Pieces {
  /** Those of the whole tree, of which the first was asked for already. */
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
    // A reader that was too slow is cut. That is no wish to stop the turn.
    isLeft = false;
    throw error;
  } finally {
    await deltas.return();
    if (isLeft) await stop();
  }
}
