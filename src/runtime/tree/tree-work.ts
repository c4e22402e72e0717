import {
  EventId,
  Json,
  keysOf,
  RunEndedError,
  RunId,
  type SendOptions,
  type EventPayloads,
  type EventType,
  type AgentId,
  type AttemptId,
  type NumberedEvent,
  type ObjectContext,
} from "#kernel";
import {
  Ledger,
  noRows,
  type Decided,
  type Doubt,
  type LedgerEffect,
  type LedgerState,
  type Slot,
} from "#ledger";
import type { ProjectorOrder } from "./protocol.ts";
import type { TreeHost, InboxItem, RunRecord, TreeRecord } from "./records.ts";
import { inboxOf } from "./inbox.ts";

/** Few: those of the page that is not full are read and written with every call. */
const eventsPerPage = 16;

/** The key of the page that holds event `seq`, once the page is full. */
export const eventPage = (seq: number): string => `events/${Math.floor((seq - 1) / eventsPerPage)}`;

/** The keys of all full pages. */
export const eventPages = ({ seq, tail }: TreeRecord): readonly string[] =>
  Array.from({ length: (seq - tail.length) / eventsPerPage }, (_, page) => `events/${page}`);

/** What writes a tree's events into the store. */
export const projectorType = "projector";
/** So the store hears of a tree at most 20 times a second. */
const projectionDelayMs = 50;

/** Where the record of a live run lies. */
export const runKey = (run: RunId): string => `run/${run}`;

type Slots = LedgerState["slots"];

/** When something is asked of a tree, and by or about which run, where it is one. */
export interface Occasion {
  readonly at: number;
  readonly run?: RunId | undefined;
}

/**
 * One call on a tree: what it has read, what it has changed. Records are loaded when asked for and written once,
 * by `commit`, so a method that throws leaves nothing behind.
 */
export class TreeWork {
  readonly object: ObjectContext;
  readonly host: TreeHost;
  #tree: TreeRecord;
  /** Null: of a tree that is not stored yet. */
  readonly #storedTree: TreeRecord | null;
  #slots: Slots;
  readonly #storedSlots: Slots | null;
  readonly #runs = new Map<RunId, { stored: RunRecord | null; now: RunRecord | null }>();
  /** Made when there is one, as rarely happens. */
  #doubts: Map<AttemptId, Doubt | null> | null = null;
  #effects: LedgerEffect[] = [];
  readonly #events: NumberedEvent[] = [];

  private constructor(
    object: ObjectContext,
    host: TreeHost,
    now: { readonly tree: TreeRecord; readonly slots: Slots },
    stored: { readonly tree: TreeRecord; readonly slots: Slots } | null,
  ) {
    this.object = object;
    this.host = host;
    this.#tree = now.tree;
    this.#slots = now.slots;
    this.#storedTree = stored?.tree ?? null;
    this.#storedSlots = stored?.slots ?? null;
  }

  /** Work on a tree that does not exist yet. */
  static fresh(object: ObjectContext, host: TreeHost, tree: TreeRecord, slots: Slots): TreeWork {
    return new TreeWork(object, host, { tree, slots }, null);
  }

  /**
   * Work on a tree at the time a caller tells; null if there is none. The records of the run that is spoken of, and
   * of the root, are asked for in the same breath: to an engine that is far, one round trip instead of three.
   */
  static on(object: ObjectContext, host: TreeHost, { at, run }: Occasion): TreeWork | null {
    const ahead = run === undefined ? [] : [runKey(run), runKey(RunId.root(RunId.tree(run)))];
    object.expect(["tree", "slots", ...ahead]);
    const record = Json.as<TreeRecord | null>(object.get("tree"));
    if (record === null) return null;
    const now = at > record.clock ? { ...record, clock: at } : record;
    const slots = Json.as<Slots>(object.get("slots") ?? {});
    return new TreeWork(object, host, { tree: now, slots }, { tree: record, slots });
  }

  get tree(): TreeRecord {
    return this.#tree;
  }

  get slots(): Slots {
    return this.#slots;
  }

  /** The tree's own time: never before anything it has seen. */
  get now(): number {
    return this.#tree.clock;
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#tree.seq + this.#events.length;
  }

  get root(): RunId {
    return RunId.root(this.#tree.treeId);
  }

  change(fields: Partial<TreeRecord>): void {
    this.#tree = { ...this.#tree, ...fields };
  }

  slot(run: RunId): Slot | undefined {
    return this.#slots[run];
  }

  setSlot(run: RunId, slot: Slot): void {
    this.#slots = { ...this.#slots, [run]: slot };
  }

  /** A live run's record; null if it has ended or never was. */
  run(id: RunId): RunRecord | null {
    const known = this.#runs.get(id);
    if (known) return known.now;
    const stored = this.#slots[id] ? Json.as<RunRecord | null>(this.object.get(runKey(id))) : null;
    this.#runs.set(id, { stored, now: stored });
    return stored;
  }

  /** @throws RunEndedError unless the run lives. */
  live(id: RunId): RunRecord {
    const run = this.run(id);
    if (!run) throw new RunEndedError({ run: id });
    return run;
  }

  put(id: RunId, run: RunRecord): void {
    const entry = this.#runs.get(id);
    if (entry) entry.now = run;
    else this.#runs.set(id, { stored: null, now: run });
  }

  /** Forgets a run that has ended. */
  drop(id: RunId): void {
    const entry = this.#runs.get(id);
    if (entry) entry.now = null;
  }

  /** Lets the ledger decide on a run, with the accounts of its path at hand. What it wants done is kept. */
  decide<Decision>(run: RunId, decision: (state: LedgerState) => Decided<Decision>): Decision {
    const path = this.#slots[run] ? Ledger.path(this.#slots, run) : [];
    this.load(path);
    return this.#apply(path, {}, decision);
  }

  /** The same, for a question about an attempt in doubt; null if there is no such doubt. */
  decideDoubt<Decision>(
    attempt: AttemptId,
    decision: (state: LedgerState) => Decided<Decision>,
  ): Decision | null {
    const known = this.#doubts?.get(attempt);
    const doubt = known ?? Json.as<Doubt | null>(this.object.get(`doubt/${attempt}`));
    if (!doubt || known === null) return null;
    // Where it was booked, and where its run stands now: a helper may have been adopted since.
    const now = this.#slots[doubt.run] ? Ledger.path(this.#slots, doubt.run) : [];
    const path = [...new Set([...doubt.path.filter((id) => this.#slots[id]), ...now])];
    this.load(path);
    return this.#apply(path, { [attempt]: doubt }, decision);
  }

  /** Loads the records of several runs at once. */
  load(runs: readonly RunId[]): void {
    if (runs.every((id) => this.#runs.has(id))) return;
    this.object.expect(runs.map(runKey));
    for (const id of runs) this.run(id);
  }

  #apply<Decision>(
    path: readonly RunId[],
    doubts: LedgerState["doubts"],
    decision: (state: LedgerState) => Decided<Decision>,
  ): Decision {
    const accounts = noRows<RunId, RunRecord["account"]>();
    for (const id of path) {
      const run = this.#runs.get(id)?.now;
      if (run) accounts[id] = run.account;
    }
    const before: LedgerState = { tree: this.#tree.ledger, slots: this.#slots, accounts, doubts };
    const decided = decision(before);
    const { state: after } = decided;
    if (after.tree !== before.tree) this.change({ ledger: after.tree });
    this.#slots = after.slots;
    for (const id of path) {
      const account = after.accounts[id];
      const run = this.#runs.get(id)?.now;
      if (run && account && account !== run.account) this.put(id, { ...run, account });
    }
    this.#noteDoubts(before.doubts, after.doubts);
    this.#effects.push(...decided.effects);
    return decided.decision;
  }

  #noteDoubts(before: LedgerState["doubts"], after: LedgerState["doubts"]): void {
    if (before === after) return;
    const doubts = (this.#doubts ??= new Map());
    for (const id of keysOf({ ...before, ...after })) {
      if (before[id] !== after[id]) doubts.set(id, after[id] ?? null);
    }
  }

  /** What the ledger's decisions so far ask for. Each is handed out once. */
  takeEffects(): readonly LedgerEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Is an event of that place among the newest, of which a full page is looked through at least? */
  hasTold(run: RunId, place: string): boolean {
    const id = EventId.of(run, place);
    const { tail, seq } = this.#tree;
    const before = (tail[0]?.seq ?? seq + 1) - eventsPerPage;
    const page = before < 1 ? [] : Json.as<TreeRecord["tail"] | null>(this.object.get(eventPage(before)));
    return [...(page ?? []), ...tail, ...this.#events].some(({ eventId }) => eventId === id);
  }

  /** Puts an event into the tree's order. `place` makes its id stable. */
  emit<Type extends EventType>(
    run: RunId,
    type: Type,
    payload: EventPayloads[Type],
    options: {
      readonly place?: string;
      readonly at?: number;
      readonly attempt?: AttemptId | null;
      /** Of whom it speaks. Default: the run's, which must be loaded. */
      readonly agent?: AgentId;
    } = {},
  ): void {
    const seq = this.seq + 1;
    const event = {
      ...payload,
      type,
      eventId: EventId.of(run, options.place ?? `${type}/${seq}`),
      treeId: this.#tree.treeId,
      runId: run,
      agent: options.agent ?? this.#runs.get(run)?.now?.agentId ?? this.#runs.get(run)?.stored?.agentId,
      at: options.at ?? this.now,
      attempt: options.attempt ?? null,
      seq,
    };
    this.#events.push(Json.as<NumberedEvent>(Json.of(event)));
  }

  /** Puts something into a live run's inbox and wakes the run; nothing if it has ended. */
  push(id: RunId, item: InboxItem): void {
    const run = this.run(id);
    if (!run) return;
    const inbox = inboxOf(this.object, id, run.inbox).push(item);
    const wakes = !inbox.woken && run.execution !== null;
    if (wakes && run.execution !== null) this.object.wake(run.execution, `inbox/${inbox.taken}`);
    this.put(id, { ...run, inbox: wakes ? { ...inbox, woken: true } : inbox });
  }

  /** Orders are carried out one after the other; those of a tree without words also when its key is gone. */
  orderProjector(order: ProjectorOrder, when: SendOptions = {}): void {
    const projector = { type: projectorType, key: this.object.key };
    this.object.send(projector, "take", Json.of(order), { ...when, keep: this.#tree.erased });
  }

  /** Asks for what is new to be written into the store, unless that is asked already. */
  #project(): void {
    const { upTo, asked } = this.#tree.projection;
    if (!this.host.projects || asked || this.seq <= upTo) return;
    this.orderProjector({ kind: "write", after: upTo, at: this.now }, { delayMs: projectionDelayMs });
    this.change({ projection: { upTo, asked: true } });
  }

  /** Writes what has changed. */
  commit(): void {
    this.#project();
    if (this.#tree !== this.#storedTree || this.#events.length > 0)
      this.#write("tree", { ...this.#tree, seq: this.seq, tail: this.#newTail() });
    if (this.#slots !== this.#storedSlots) this.object.set("slots", Json.of(this.#slots));
    for (const [id, { stored, now }] of this.#runs) {
      if (now === stored) continue;
      if (now) this.object.set(runKey(id), Json.of(now));
      else this.object.clear(runKey(id));
    }
    for (const [attempt, doubt] of this.#doubts ?? []) {
      if (doubt) this.object.keep(`doubt/${attempt}`, Json.of(doubt));
      else this.object.clear(`doubt/${attempt}`);
    }
  }

  /** The newest events, without the pages that are full now. */
  #newTail(): readonly NumberedEvent[] {
    let tail = this.#tree.tail;
    if (this.#events.length > 0) tail = [...tail, ...this.#events];
    for (; tail.length >= eventsPerPage; tail = tail.slice(eventsPerPage)) {
      this.#write(eventPage(tail[0]?.seq ?? 1), tail.slice(0, eventsPerPage));
    }
    return tail;
  }

  /** What a tree has left when its words are gone has no words: it stays. */
  #write(key: string, value: unknown): void {
    if (this.#tree.erased) this.object.keep(key, Json.of(value));
    else this.object.set(key, Json.of(value));
  }
}
