// A run's part in its conversation: reads the earlier messages, and writes its own.
//
// Job: number the messages of the run, write them as entries on a separate branch, and merge the branch into the
// conversation when a turn is saved. Neighbours: model-step reads the history; model-calls and tool-step flush once the
// gate has let them pass; run-context saves; run-exit reports whether a turn is left open, and the tree settles it.
//
// Invariants:
// 1. The main path changes only in `save`: no crash leaves half a turn on it. A turn whose conversation has changed since
//    it began, or that was settled, is not saved: `TurnLostError`.
// 2. Ids and parents follow from the order of the run's own messages: a repeated write writes the same entry.
// 3. Everything that decides which operations the run makes is the same on every replay. Answers of the store are not,
//    so it is read and written only inside steps.
import { Session, type PromptWindow } from "#agents";
import {
  EntryId,
  type Labels,
  RetryableError,
  type AgentId,
  type ChatMessage,
  type Clock,
  type ExtensionEntry,
  type HistoryProvider,
  type RunId,
  type RunScope,
  type SessionEntry,
  type Store,
  TurnLostError,
  Usage,
} from "#kernel";
import type { CarriedTurn, CompactionOrder, TurnPosition } from "#tree";
import { toEntry, type AddedEntry } from "./added-entry.ts";
import type { HistoryLimits } from "./context-limits.ts";
import { readProvided, readStored, toRetryableError } from "./read-history.ts";
import { readTurnStart, type TurnStart, writeTurn } from "./turn-start.ts";

/** The conversation of a run, and the access to it. */
export interface RunSessionOptions {
  /** Null: this worker has no store. */
  readonly store: Store | null;
  readonly scope: RunScope;
  readonly agentId: AgentId;
  readonly clock: Clock;
  /** The source of earlier messages. Absent: the store. */
  readonly history?: HistoryProvider | undefined;
  /** The position at which the run's turn begins. Null: it takes no part in a conversation. */
  readonly place: TurnPosition | null;
}

/** The conversation of one run. */
export class RunSession {
  readonly #options: RunSessionOptions;
  /** The number of messages that the run has added. */
  #count: number;
  /** The number of them that are part of the conversation. */
  #saved: number;
  /** The newest entry of the conversation after the last save. Undefined: the run has saved nothing. */
  #leaf: EntryId | null | undefined;
  /** The messages of this turn that this execution has added. `#waiting` holds those that may not be written yet. */
  #added: AddedEntry[] = [];
  #waiting: AddedEntry[] = [];
  /** Entries of extensions that came before the first message of the turn. They follow it. */
  #early: { readonly entry: ExtensionEntry; readonly labels: Labels | undefined }[] = [];
  #opened: Session | null = null;
  /** The place of the run's first turn in the conversation, once it was read. */
  #start: Promise<TurnStart> | null = null;
  #history: Promise<PromptWindow> | null = null;
  #writing: Promise<void> = Promise.resolve();
  #hasActed: boolean;
  /** The compaction in the middle of this turn. Messages before it are read from the conversation. */
  #cut: CarriedTurn["cut"];
  /** Whether a compaction was requested after this turn. */
  #isAsked: boolean;
  /** Whether the run's own messages begin with a summary of the earlier ones. */
  #skipsHistory: boolean;
  /** The tokens of the last prompt and its answer, as reported by the provider. */
  #contextTokens = 0;
  /** Whether the context is so full that a compaction follows the turn. */
  #isDue = false;
  /** Whether the last prompt was too long, so that the next one is shorter. */
  #hasMadeRoom = false;
  #told: SessionEntry["told"];
  /** The entries of messages that this execution has written or read. */
  readonly #entries = new WeakMap<ChatMessage, EntryId>();

  constructor(options: RunSessionOptions, carried?: CarriedTurn) {
    this.#options = options;
    this.#count = carried?.count ?? 0;
    this.#saved = carried?.saved ?? 0;
    this.#leaf = carried?.leaf;
    this.#hasActed = carried?.hasActed ?? false;
    this.#cut = carried?.cut;
    this.#isAsked = carried?.isAsked ?? false;
    this.#skipsHistory = carried?.skipsHistory ?? false;
  }

  /** Whether a tool has had side effects in this turn. */
  get hasActed(): boolean {
    return this.#hasActed;
  }

  /** Records that a tool may have had side effects: a turn that fails afterwards stays in the conversation. */
  noteAct(): void {
    this.#hasActed = true;
  }

  /** Whether messages are written. */
  get isKept(): boolean {
    return this.#options.place?.isKept ?? false;
  }

  /** The compaction that the run makes instead of taking a turn. Undefined: it takes one. */
  get order(): CompactionOrder | undefined {
    return this.#options.place?.compaction;
  }

  /** Whether the run has saved a turn. */
  get hasSaved(): boolean {
    return this.#saved > 0;
  }

  /** Whether messages were added since the last save. */
  get isOpen(): boolean {
    return this.isKept && this.#count > this.#saved;
  }

  /** The state for the next execution of the run, which begins with everything written. */
  get carried(): CarriedTurn {
    return {
      count: this.#count,
      saved: this.#saved,
      ...(this.#leaf !== undefined && { leaf: this.#leaf }),
      ...(this.#hasActed && { hasActed: true }),
      ...(this.#cut && { cut: this.#cut }),
      ...(this.#isAsked && { isAsked: true }),
      ...(this.#skipsHistory && { skipsHistory: true }),
    };
  }

  /** The newest entry of the conversation that the run knows of. */
  get leaf(): EntryId | null {
    return this.#leaf ?? null;
  }

  append(message: ChatMessage, labels: Labels | undefined): void {
    if (!this.isKept) return;
    const told = message.role === "assistant" ? this.#told : undefined;
    if (told) this.#told = undefined;
    this.#add({ message }, labels, told);
    for (const { entry, labels: before } of this.#early.splice(0)) this.appendEntry(entry, before);
  }

  /** Adds an entry of an extension to the turn. The model does not see it. */
  appendEntry(entry: ExtensionEntry, labels: Labels | undefined): void {
    if (!this.isKept) return;
    if (this.#count === this.#saved) this.#early.push({ entry, labels });
    else this.#add(entry, labels);
  }

  #add(said: AddedEntry["said"], labels: Labels | undefined, told?: AddedEntry["told"]): void {
    this.#count += 1;
    const added = { number: this.#count, said, labels, told };
    this.#added.push(added);
    this.#waiting.push(added);
  }

  /** Whether the store lacks messages of this turn. */
  get hasUnwritten(): boolean {
    return this.#waiting.length > 0;
  }

  /** Returns the entry of a message in the store. Undefined: the store has none. */
  entryOf(message: ChatMessage): EntryId | undefined {
    return this.#entries.get(message);
  }

  /** Stores the reported size of the last prompt. It is written with the answer. */
  noteSize(told: NonNullable<SessionEntry["told"]>): void {
    this.#told = told;
  }

  /** The tokens of the last prompt and its answer, as reported by the provider. 0: not reported. */
  get contextTokens(): number {
    return this.#contextTokens;
  }

  /** Whether a compaction follows the turn. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Whether the next prompt was made shorter because the last one was too long. */
  get hasMadeRoom(): boolean {
    return this.#hasMadeRoom;
  }

  /** Records the usage of the last call, and whether a compaction is due. */
  noteContext(usage: Usage | null, isDue: boolean): void {
    this.#contextTokens = usage ? Usage.tokens(usage) : 0;
    this.#isDue = isDue;
    this.#hasMadeRoom = false;
  }

  /** Requests a compaction after this turn. */
  askForCompaction(): void {
    this.#isAsked = true;
  }

  /** Returns whether a compaction was requested, and resets the request. */
  takeRequest(): boolean {
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    return isAsked;
  }

  /** Whether there may be messages before this turn: the same on every replay. */
  get readsHistory(): boolean {
    const { place } = this.#options;
    if (place === null || this.#skipsHistory) return false;
    return this.#leaf !== undefined || this.#cut !== undefined || place.isNamed;
  }

  /** Stops showing earlier messages: the run has a summary of them in its own messages. */
  skipHistory(): void {
    this.#skipsHistory = true;
    this.#hasMadeRoom = true;
  }

  /** Whether the run is a copy of the one that has the turn. A copy only reads. */
  get isCopy(): boolean {
    return this.#options.place?.isCopy ?? false;
  }

  /** The entry that this turn follows, if the run knows it without the store: the same on every replay. */
  get turnStart(): "none" | "stored" | { readonly entry: EntryId | null } {
    const { place } = this.#options;
    if (place === null) return "none";
    if (this.#cut) return { entry: this.#cut.entry };
    if (this.#leaf !== undefined) return { entry: this.#leaf };
    if (place.after !== undefined) return { entry: place.after };
    return place.isNamed ? "stored" : { entry: null };
  }

  /** The conversation up to the last turn, if that is saved and the conversation may continue. */
  get savedPlace(): { readonly session: Session; readonly at: EntryId } | null {
    const at = this.#leaf ?? null;
    return at === null || this.isOpen || !this.goesOn ? null : { session: this.#session, at };
  }

  /** Continues below the mark of a review, after the step that has made it. */
  noteReviewed(mark: EntryId): void {
    this.#leaf = mark;
    this.#history = null;
  }

  /** Reads the entry that this turn follows. Called inside a step. @throws RetryableError */
  async readTurnStart(): Promise<EntryId | null> {
    try {
      return (await this.#readStart()).from;
    } catch (error) {
      throw toRetryableError(error);
    }
  }

  /** Whether later turns may follow in a stored conversation. */
  get goesOn(): boolean {
    const { place } = this.#options;
    return place !== null && place.isKept && place.isNamed;
  }

  /**
   * Returns the position of a compaction: below all messages so far; in the middle of a turn, on the branch of the run.
   * Null: there are no messages. Called inside a step. @throws RetryableError
   */
  async compactionPlace(): Promise<{
    readonly session: Session;
    readonly at: EntryId;
    readonly branch: RunId | null;
  } | null> {
    const isInTurn = this.#count > this.#saved;
    await this.flush();
    const at = isInTurn ? this.#parentOf(this.#count + 1) : (await this.#readStart()).from;
    const branch = isInTurn ? this.#options.scope.runId : null;
    return at === null ? null : { session: this.#session, at, branch };
  }

  /** Continues below a compaction, after the step that has made it. */
  noteCompacted(entry: EntryId): void {
    if (this.#count > this.#saved) this.#cut = { entry, count: this.#count };
    else this.#leaf = entry;
    this.#hasMadeRoom = true;
    this.#isDue = false;
    this.#added = [];
    this.#waiting = [];
    this.#history = null;
  }

  /** The entry that the turn begins with. */
  get firstOfTurn(): EntryId {
    return this.#idOf(this.#saved + 1);
  }

  /** Reads the messages before this turn. Called inside a step, once for each turn of an execution. */
  history(limits: HistoryLimits): Promise<PromptWindow> {
    return (this.#history ??= this.#read(limits).catch((error: unknown) => {
      this.#history = null;
      throw toRetryableError(error);
    }));
  }

  /**
   * Writes the waiting messages. Called inside a step that has passed the gate. If it fails, the next step writes them.
   * @throws RetryableError
   */
  flush(): Promise<void> {
    if (this.#waiting.length === 0) return this.#writing;
    const written = this.#writing
      .then(() => this.#write())
      .catch((error: unknown) => {
        throw toRetryableError(error);
      });
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /**
   * Merges the turn into the conversation. Called inside a step. Returns the newest entry. @throws RetryableError;
   * TurnLostError if the conversation has changed since the turn began, or the turn was settled.
   */
  async adopt(): Promise<EntryId> {
    const { runId, sessionId: session } = this.#options.scope;
    try {
      const last = this.#idOf(this.#count);
      await this.flush();
      const outcome = await this.#session.adopt(runId, { last, ...(await this.#readStart()) });
      if (outcome === "adopted") return last;
      if (outcome !== "incomplete") throw new TurnLostError({ session, reason: outcome });
      // Entries are missing, for example because a database was restored. The turn is written again.
      this.#waiting = [...this.#added];
      throw new Error(`its stored turn lacks entries, or has others than up to ${last}`);
    } catch (error) {
      throw toRetryableError(error);
    }
  }

  /** Begins the next turn, after the step that has saved this one. */
  noteSaved(leaf: EntryId | null): void {
    this.#saved = this.#count;
    this.#leaf = leaf;
    this.#hasActed = false;
    this.#cut = undefined;
    this.#skipsHistory = false;
    this.#added = [];
    this.#waiting = [];
    this.#history = null;
  }

  async #read(limits: HistoryLimits): Promise<PromptWindow> {
    const at = this.#cut?.entry ?? (await this.#readStart()).from;
    const { history, scope } = this.#options;
    if (history) return readProvided(history, scope, { at, maxTokens: limits.maxTokens });
    return readStored(this.#session, { at, ...limits }, this.#entries);
  }

  async #write(): Promise<void> {
    // More messages may be added during the write.
    const given = [...this.#waiting];
    if (given.length === 0) return;
    const { clock, scope, agentId, place } = this.#options;
    const { channel, metadata } = scope;
    const isNamed = place?.isNamed ?? false;
    const session = this.#session;
    const { from } = await this.#readStart();
    const at = clock.now();
    const entries = given.map((added) => {
      const parentId = this.#parentOf(added.number) ?? from;
      return toEntry(added, { id: this.#idOf(added.number), parentId, at, branch: scope.runId, isNamed });
    });
    if (given[0]?.number === this.#saved + 1)
      await session.open({ startedAt: at, agentId, channel, metadata, isNamed, turn: scope.runId });
    await writeTurn(session, entries);
    for (const entry of entries) if (entry.type === "message") this.#entries.set(entry.message, entry.id);
    this.#waiting = this.#waiting.filter((other) => !given.includes(other));
  }

  /** Returns the place of this turn in the conversation. Only the first turn of a run must be looked up in the store. */
  #readStart(): Promise<TurnStart> {
    if (this.#leaf !== undefined) return Promise.resolve({ follows: this.#leaf, from: this.#leaf });
    const { place } = this.#options;
    if (!place?.isNamed && place?.after === undefined) return Promise.resolve({ follows: null, from: null });
    return (this.#start ??= readTurnStart(this.#session, this.firstOfTurn, place.after).catch(
      (error: unknown) => {
        this.#start = null;
        throw error;
      },
    ));
  }

  /** Returns the entry before a message of the run. Null: the one at which the turn begins. */
  #parentOf(number: number): EntryId | null {
    if (number - 1 === this.#cut?.count) return this.#cut.entry;
    return number - 1 === this.#saved ? null : this.#idOf(number - 1);
  }

  #idOf(number: number): EntryId {
    return EntryId.ofRun(this.#options.scope.runId, number);
  }

  get #session(): Session {
    const { store, scope } = this.#options;
    if (!store)
      throw new RetryableError({
        message:
          "this worker has no store, and the run keeps its conversation in one: createRuntime({ store })",
      });
    const { tenantId, userId, sessionId: id } = scope;
    return (this.#opened ??= new Session(store.sessions, { tenantId }, { userId, id }));
  }
}
