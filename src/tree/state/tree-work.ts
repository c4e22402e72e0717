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
import { LedgerRows } from "./ledger-rows.ts";
import { protocolNumber } from "../protocol-number.ts";
import type { ProjectorOrder } from "../orders.ts";
import { doubtKey, type RunRecord, type StoredItem, type TreeHost, type TreeRecord } from "./records.ts";
import { handOut } from "./hand-out.ts";
import { writeEvents } from "./events.ts";
import { inboxOf } from "./inbox.ts";
import { fitEvent } from "./size.ts";
import { readEnded, readRun, runKey, slotKey, writeRun } from "./stored-run.ts";
import { tickClock } from "./tick-clock.ts";
import { readTree, treeKeys, writeTree } from "./tree-record.ts";

/** What writes a tree's events into the store. */
export const projectorType = "projector";

/** What is asked of a tree. */
export interface Occasion {
  /** The caller's time, for events of its own. The tree has its own time. */
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
  readonly #rows: LedgerRows;
  readonly #runs = new Map<RunId, { stored: RunRecord | null; now: RunRecord | null }>();
  /** Made when there is one, as rarely happens. */
  #doubts: Map<AttemptId, Doubt | null> | null = null;
  readonly #effects: LedgerEffect[] = [];
  /** Whether calls that wait for money may have room: money has moved, or a run can go on. */
  isMoneyMoved = false;
  readonly #events: NumberedEvent[] = [];
  /** The run that this call answers has been given its events. */
  #taken: RunId | null = null;

  private constructor(object: ObjectContext, host: TreeHost, tree: TreeRecord, stored: TreeRecord | null) {
    this.object = object;
    this.host = host;
    this.#tree = tree;
    this.#storedTree = stored;
    this.#rows = new LedgerRows(object, tree.treeId, {
      get: (run) => this.run(run)?.account,
      missing: (runs) => this.#missing(runs),
    });
  }

  /** Work on a tree that does not exist yet. */
  static fresh(
    object: ObjectContext,
    host: TreeHost,
    tree: TreeRecord,
    slots: LedgerState["slots"],
  ): TreeWork {
    const work = new TreeWork(object, host, tree, null);
    for (const run of keysOf(slots)) work.#rows.slots.set(run, slots[run] ?? null);
    return work;
  }

  /**
   * Work on a tree at the engine's time; null if there is none. The records of the run that is spoken of, and
   * of the root, and other `names`, are asked for in the same breath: to an engine that is far, one round trip instead
   * of several.
   */
  static on(
    object: ObjectContext,
    host: TreeHost,
    { run }: Occasion,
    names: readonly string[] = [],
  ): TreeWork | null {
    const runs = run === undefined ? [] : [run, RunId.root(RunId.tree(run))];
    object.prefetch([...treeKeys, ...runs.flatMap((id) => [slotKey(id), runKey(id)]), ...names]);
    const record = readTree(object);
    if (record === null) return null;
    const clock = tickClock(record.clock, object.now());
    const now = clock === record.clock ? record : { ...record, clock };
    return new TreeWork(object, host, now, record);
  }

  get tree(): TreeRecord {
    return this.#tree;
  }

  /** The tree's own time, from its engine: no caller's clock counts. */
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
    return this.#rows.slots.get(run) ?? undefined;
  }

  setSlot(run: RunId, slot: Slot): void {
    this.#rows.slots.set(run, slot);
  }

  /** A run that is about to be spawned has no slot: none has to be loaded. */
  expectNew(run: RunId): void {
    this.#rows.slots.set(run, null);
  }

  /** All live runs, in the order in which they were spawned. Their slots are loaded. */
  allRuns(): readonly RunId[] {
    const runs = this.#rows.runs();
    this.loadSlots(runs);
    return runs;
  }

  /** Loads the slots of these runs at once. */
  loadSlots(runs: readonly RunId[]): void {
    this.object.prefetch(this.#rows.slots.missing(runs));
  }

  /**
   * Loads the slots and records of these runs and of every live run below them, and returns those runs. At once: a record
   * that is loaded alone costs another try of the whole method.
   */
  loadBelow(runs: readonly RunId[]): readonly RunId[] {
    this.load(runs);
    if (!runs.some((run) => (this.slot(run)?.children ?? 0) > 0)) return runs;
    const below = this.#rows.below(runs);
    this.load(below);
    return below;
  }

  /** The oldest run of an agent that lives and is not cancelled; null if there is none. */
  oldest(agentId: AgentId): RunId | null {
    return this.#rows.oldest(agentId, (run) => this.#runs.get(run)?.now?.agentId);
  }

  /** A live run's record; null if it has ended or never was. */
  run(id: RunId): RunRecord | null {
    const known = this.#runs.get(id);
    if (known) return known.now;
    const stored = readRun(this.object, id);
    this.#runs.set(id, { stored, now: stored });
    return stored;
  }

  /** The record of a run that was loaded, as it is now or, once the run has ended, as it was. */
  lastKnown(id: RunId): RunRecord | null {
    const known = this.#runs.get(id);
    return known?.now ?? known?.stored ?? null;
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
    const path = this.path(run);
    this.load(path);
    return this.#apply(path, {}, decision);
  }

  /** The same, for a question about an attempt in doubt; null if there is no such doubt. */
  decideDoubt<Decision>(
    attempt: AttemptId,
    decision: (state: LedgerState) => Decided<Decision>,
  ): Decision | null {
    const known = this.#doubts?.get(attempt);
    const doubt = known ?? Json.as<Doubt | null>(this.object.get(doubtKey(attempt)));
    if (!doubt || known === null) return null;
    // Where it was booked, and where its run stands now: a helper may have been adopted since.
    this.load([...doubt.path, doubt.run]);
    const path = [...new Set([...doubt.path.filter((id) => this.slot(id)), ...this.path(doubt.run)])];
    this.load(path);
    return this.#apply(path, { [attempt]: doubt }, decision);
  }

  /** The runs from the root down to a run, both included. Empty for a run that is not alive. */
  path(run: RunId): readonly RunId[] {
    this.#prefetch([run]);
    this.#prefetch(this.run(run)?.ancestors ?? []);
    return Ledger.path({ get: (id) => this.slot(id) }, run);
  }

  /** Loads the slots and records of several runs at once. */
  load(runs: readonly RunId[]): void {
    this.#prefetch(runs);
    for (const id of runs) this.run(id);
  }

  #prefetch(runs: readonly RunId[]): void {
    this.object.prefetch([...this.#missing(runs), ...this.#rows.slots.missing(runs)]);
  }

  /** The keys of the records that are not loaded. */
  #missing(runs: readonly RunId[]): readonly string[] {
    return runs.filter((id) => !this.#runs.has(id)).map(runKey);
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
    const before: LedgerState = { tree: this.#tree.ledger, accounts, doubts, ...this.#rows.read() };
    const decided = decision(before);
    const { state: after } = decided;
    if (after.tree !== before.tree) this.change({ ledger: after.tree });
    this.#rows.apply(before, after);
    this.isMoneyMoved ||= after.tree.account !== before.tree.account || decided.effects.length > 0;
    for (const id of keysOf(after.accounts)) {
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
    return this.#effects.splice(0);
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
      /** The run's agent. Default: as its record says. */
      readonly agent?: AgentId;
    } = {},
  ): void {
    const seq = this.seq + 1;
    const event = {
      ...payload,
      v: protocolNumber,
      type,
      eventId: EventId.of(run, options.place ?? `${type}/${seq}`),
      treeId: this.#tree.treeId,
      runId: run,
      agent: options.agent ?? (this.lastKnown(run) ?? this.run(run))?.agentId,
      at: options.at ?? this.now,
      attempt: options.attempt ?? null,
      seq,
    };
    this.#events.push(fitEvent(Json.as<NumberedEvent>(Json.of(event))));
  }

  /** Returns the events of a run that this call has appended, to be handed to the run. */
  takeAppended(run: RunId): readonly NumberedEvent[] {
    this.#taken = run;
    return this.#events.filter(({ runId }) => runId === run);
  }

  /** The events that this call has appended and handed to no run. */
  get untaken(): readonly NumberedEvent[] {
    return this.#events.filter(({ runId }) => runId !== this.#taken);
  }

  /** Puts something into a live run's inbox and wakes the run; nothing if it has ended. */
  push(id: RunId, item: StoredItem): void {
    const run = this.run(id);
    if (!run) return;
    const inbox = inboxOf(this.object, id, run.inbox).push(item);
    const wakes = !inbox.woken && run.execution !== null;
    if (wakes && run.execution !== null) this.object.wake(run.execution, `inbox/${inbox.taken}`);
    this.put(id, { ...run, inbox: wakes ? { ...inbox, woken: true } : inbox });
  }

  /** Orders are carried out one after the other. */
  orderProjector(order: ProjectorOrder, when?: SendOptions): void {
    const projector = { type: projectorType, key: this.object.key };
    this.object.send(projector, "take", Json.of(order), when);
  }

  /** Hands what is new to the projector. */
  #project(): void {
    if (!this.host.projects) return;
    const { slots } = this.#rows;
    const handed = handOut({ ...this.#tree, seq: this.seq }, this.#events, {
      record: (run) => this.#runs.get(run),
      slot: (run) => (slots.isRead(run) ? slots.get(run) : undefined),
      ended: (run) => readEnded(this.object, run),
    });
    if (handed) this.orderProjector(handed.order, handed.when);
    if (handed) this.change({ projection: handed.projection });
  }

  /** Writes what has changed. */
  commit(): void {
    writeEvents(this.object, this.#events);
    this.#rows.commit((run) => this.#runs.get(run)?.now?.agentId);
    for (const [id, { stored, now }] of this.#runs) {
      if (now === stored) continue;
      if (now) writeRun(this.object, id, now);
      else this.object.clear(runKey(id));
    }
    for (const [attempt, doubt] of this.#doubts ?? []) {
      if (doubt) this.object.set(doubtKey(attempt), Json.of(doubt));
      else this.object.clear(doubtKey(attempt));
    }
    this.#project();
    if (this.#tree !== this.#storedTree || this.#events.length > 0) this.#writeTree();
  }

  #writeTree(): void {
    writeTree(this.object, { ...this.#tree, seq: this.seq }, this.#storedTree);
  }
}
