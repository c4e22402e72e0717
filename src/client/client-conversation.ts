import { Json, type EntryId, type Page, type RunResult, type SessionHead, type TreeId } from "#kernel";
import type { ContextUsage, ConversationMessage, MessagesRequest, Phase, RunDelta } from "#runtime";
import { ClientRun, delay, type StartedRun } from "./client-run.ts";
import type { Http } from "./http.ts";
import type { SentInput } from "./sent-input.ts";
import type { CompactionSettings, TurnSettings } from "./start-settings.ts";

/** Settings of a turn whose answer is streamed. It cannot be queued behind another turn. */
export interface StreamSettings extends Omit<TurnSettings, "onBusy"> {
  /** The effect of leaving the loop on the turn: cancel it, or let it go on. Default cancel. */
  readonly onBreak?: "cancel" | "detach";
}

/** The answer to a message, piece by piece. */
export interface ClientTurnStream<Output = Json> extends AsyncIterable<RunDelta> {
  /** The run of the turn, which the server may not have accepted yet. */
  readonly run: ClientRun<Output>;
  /** The result, once the turn is over and the conversation is free again. */
  result(): Promise<RunResult<Output>>;
}

/** The state of a conversation, as returned by a server. */
export interface SessionState extends SessionHead {
  readonly phase: Phase;
  /** The tree that has the turn. */
  readonly turn: TreeId | null;
  readonly contextUsage: ContextUsage;
}

const maxWaitMs = 1_000;

/** One conversation with an agent, over HTTP. `Output`: the output type of its agent. */
export class ClientConversation<Output = Json> {
  readonly id: string;
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, id: string) {
    this.#http = http;
    this.id = id;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
  }

  /** Begins a turn. Fails with `session-busy` while another turn is live, unless `onBusy` is set to queue. */
  async start(input: SentInput, settings: TurnSettings = {}): Promise<ClientRun<Output>> {
    const body = { id: crypto.randomUUID(), ...settings, input };
    const { runId } = Json.as<StartedRun>(await this.#http.post(`${this.#path}/turns`, body));
    return new ClientRun(this.#http, runId);
  }

  /** Begins a turn, and waits until it is over and the conversation is free again. */
  async invoke(input: SentInput, settings: TurnSettings = {}): Promise<RunResult<Output>> {
    return this.#end(await this.start(input, settings));
  }

  /**
   * Begins a turn, and yields the pieces of the root's answers as they stream. Leaving the loop cancels the turn. A
   * lost connection ends the loop with an error and does not affect the turn: `result()` has the answer.
   */
  stream(input: SentInput, settings: StreamSettings = {}): ClientTurnStream<Output> {
    const id = settings.id ?? crypto.randomUUID();
    const run = new ClientRun<Output>(this.#http, `${id}~0`);
    const pieces = this.#pieces(run, input, { ...settings, id });
    const first = pieces.next();
    first.catch(() => undefined);
    const result = async (): Promise<RunResult<Output>> => {
      await first;
      return this.#end(run);
    };
    return { run, result, [Symbol.asyncIterator]: () => startingWith(first, pieces) };
  }

  /** Returns the messages of the current path of the conversation, newest first. */
  messages({ size = 50, after }: MessagesRequest = {}): Promise<Page<ConversationMessage>> {
    const query = { size: String(size), ...(after !== undefined && { after }) };
    return this.#http.list(`${this.#path}/messages?${new URLSearchParams(query).toString()}`);
  }

  /** Makes the next turn follow an earlier entry. Null: none. Later entries remain on their own path. */
  async navigate(entry: EntryId | null): Promise<void> {
    await this.#http.post(`${this.#path}/navigate`, { entry });
  }

  /** A new conversation with everything up to an entry, by default all of it. */
  async fork(entry?: EntryId): Promise<ClientConversation<Output>> {
    const body = entry === undefined ? {} : { entry };
    const { id } = Json.as<{ readonly id: string }>(await this.#http.post(`${this.#path}/fork`, body));
    return new ClientConversation(this.#http, id);
  }

  /**
   * Compacts the oldest part of the conversation now. Returns the entry with the summary. Null if there is nothing to
   * compact, or it was refused or failed.
   */
  async runCompaction(settings: CompactionSettings = {}): Promise<EntryId | null> {
    const body = { id: crypto.randomUUID(), ...settings };
    const { runId } = Json.as<StartedRun>(await this.#http.post(`${this.#path}/compaction`, body));
    const { output } = await this.#end(new ClientRun<EntryId | null>(this.#http, runId));
    return output;
  }

  /** Whether a turn is going on, or a compaction. */
  async phase(): Promise<Phase> {
    return (await this.head()).phase;
  }

  /** Returns how full the model's context will be at the start of the next turn. */
  async contextUsage(): Promise<ContextUsage> {
    return (await this.head()).contextUsage;
  }

  /** Name, times, owner and newest entry, the tree that has the turn, and the context. */
  async head(): Promise<SessionState> {
    return Json.as(await this.#http.get(this.#path));
  }

  /** Gives it another title; null takes it away. */
  async rename(title: string | null): Promise<void> {
    await this.#http.patch(this.#path, { title });
  }

  /** Removes the conversation and its content. */
  async delete(): Promise<void> {
    await this.#http.delete(this.#path);
  }

  /** The whole conversation as JSON lines, in pieces of any size: a header, then every entry. */
  export(): AsyncIterable<string> {
    return this.#http.lines(`${this.#path}/export`);
  }

  async #end<Result>(run: ClientRun<Result>): Promise<RunResult<Result>> {
    const result = await run.result();
    const { signal } = new AbortController();
    for (
      let waitMs = 10;
      `${(await this.head()).turn}~0` === run.id;
      waitMs = Math.min(2 * waitMs, maxWaitMs)
    )
      await delay(waitMs, signal);
    return result;
  }

  async *#pieces(
    run: ClientRun<Output>,
    input: SentInput,
    { onBreak = "cancel", ...settings }: StreamSettings,
  ): AsyncGenerator<RunDelta, void> {
    let isLeft = true;
    try {
      const sent = this.#http.watchStart(`${this.#path}/turns`, { ...settings, input });
      for await (const { event, data } of sent) {
        if (event !== "delta") continue;
        const piece = Json.as<RunDelta & Json>(Json.of(JSON.parse(data)));
        if (piece.runId === run.id) yield piece;
      }
      isLeft = false;
    } catch (error) {
      isLeft = false;
      throw error;
    } finally {
      if (isLeft && onBreak === "cancel") await run.cancel();
    }
  }
}

async function* startingWith<Piece>(
  first: Promise<IteratorResult<Piece, void>>,
  rest: AsyncGenerator<Piece, void>,
): AsyncGenerator<Piece, void> {
  try {
    const { done, value } = await first;
    if (done) return;
    yield value;
    yield* rest;
  } finally {
    await rest.return();
  }
}
