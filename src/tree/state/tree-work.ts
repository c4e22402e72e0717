// The unit of work of one call on a tree.
//
// Job: load records on demand, collect the changes of a method, and write them once. Neighbours: tree-object creates it
// for each call; methods read and change the tree only through it; the ledger decides through `decide`; ledger-rows and
// stored-rows hold slots and records.
//
// Invariants:
// 1. Nothing is written before `commit`, so a method that throws changes nothing.
// 2. A record is read once per call. Later reads see the changes of the call.
// 3. Effects of the ledger are collected here, and handed out once.
// 4. Events get their numbers in the order of `emit`.
// 5. Values that belong together are prefetched together: each missing value costs a remote engine another try.

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
  type DecisionResult,
  type Doubt,
  type LedgerEffect,
  type LedgerState,
  type Slot,
} from "#ledger";
import { addItem } from "./add-item.ts";
import { LedgerRows } from "./ledger-rows.ts";
import { protocolNumber } from "../protocol-number.ts";
import type { ProjectorOrder } from "../orders.ts";
import { doubtKey, type RunRecord, type StoredItem, type TreeDeps, type TreeRecord } from "./records.ts";
import { handOut } from "./hand-out.ts";
import { writeEvents } from "./events.ts";
import { fitEvent } from "./size.ts";
import { readEnded, readRun, runKey, slotKey, writeRun } from "./stored-run.ts";
import { tick } from "./tick-clock.ts";
import { readTree, treeKeys, writeTree } from "./tree-record.ts";

/** The type of the sink that writes a tree's events into the store. */
export const projectorType = "projector";

/** The common fields of a call to a tree. */
export interface Occasion {
  /** The caller's time, for its own events. The tree has its own time. */
  readonly at: number;
  readonly run?: RunId | undefined;
}

/**
 * One call on a tree: its reads and its changes. Records are loaded on demand and written once, by `commit`, so a
 * method that throws changes nothing.
 */
export class TreeWork {
  readonly object: ObjectContext;
  readonly host: TreeDeps;
  /** The tree's own time, from its engine. Callers' clocks do not count. */
  readonly now: number;
  #tree: TreeRecord;
  /** Null: the tree is not stored yet. */
  readonly #storedTree: TreeRecord | null;
  readonly #rows: LedgerRows;
  readonly #runs = new Map<RunId, { stored: RunRecord | null; now: RunRecord | null }>();
  /** Created on first use, because doubts are rare. */
  #doubts: Map<AttemptId, Doubt | null> | null = null;
  readonly #effects: LedgerEffect[] = [];
  /** Whether waiting calls may fit now: money has moved, or a run can continue. */
  isMoneyMoved = false;
  readonly #events: NumberedEvent[] = [];
  /** The run that gets its events with the reply of this call. Null: none. */
  #taken: RunId | null = null;

  private constructor(object: ObjectContext, host: TreeDeps, tree: TreeRecord, stored: TreeRecord | null) {
    this.object = object;
    this.host = host;
    this.now = tree.clock;
    this.#tree = tree;
    this.#storedTree = stored;
    this.#rows = new LedgerRows(object, tree.treeId, {
      get: (run) => this.run(run)?.account,
      listMissingKeys: (runs) => this.#listMissingKeys(runs),
    });
  }

  /** Creates the work on a tree that does not exist yet. */
  static fresh(
    object: ObjectContext,
    host: TreeDeps,
    tree: TreeRecord,
    slots: LedgerState["slots"],
  ): TreeWork {
    const work = new TreeWork(object, host, tree, null);
    for (const run of keysOf(slots)) work.#rows.slots.set(run, slots[run] ?? null);
    return work;
  }

  /**
   * Creates the work on a tree at the engine's time. Null if there is no such tree. Prefetches the records of the
   * call's run and of the root, and `names`: one round trip instead of several for a remote engine.
   */
  static on(
    object: ObjectContext,
    host: TreeDeps,
    { run }: Occasion,
    names: readonly string[] = [],
  ): TreeWork | null {
    if (!object.keepsReferences) {
      const runs = run === undefined ? [] : [run, RunId.root(RunId.tree(run))];
      object.prefetch([...treeKeys, ...runs.flatMap((id) => [slotKey(id), runKey(id)]), ...names]);
    }
    const record = readTree(object);
    if (record === null) return null;
    return new TreeWork(object, host, tick(record, object), record);
  }

  get tree(): TreeRecord {
    return this.#tree;
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

  /** Records that a run about to be spawned has no slot, so that none is loaded. */
  expectNew(run: RunId): void {
    this.#rows.slots.set(run, null);
  }

  /** Returns all live runs, in spawn order. Loads their slots. */
  allRuns(): readonly RunId[] {
    const runs = this.#rows.runs();
    this.loadSlots(runs);
    return runs;
  }

  /** Loads the slots of these runs together. */
  loadSlots(runs: readonly RunId[]): void {
    if (!this.object.keepsReferences) this.object.prefetch(this.#rows.slots.listMissingKeys(runs));
  }

  /**
   * Loads the slots and records of these runs and all their live descendants, and returns those runs. They are loaded
   * together, because a record that is loaded alone costs another try of the whole method.
   */
  loadBelow(runs: readonly RunId[]): readonly RunId[] {
    this.load(runs);
    if (!runs.some((run) => (this.slot(run)?.children ?? 0) > 0)) return runs;
    const below = this.#rows.listSubtree(runs);
    this.load(below);
    return below;
  }

  /** Returns the oldest live run of an agent that is not cancelled. Null if there is none. */
  findOldest(agentId: AgentId): RunId | null {
    return this.#rows.findOldest(agentId, (run) => this.#runs.get(run)?.now?.agentId);
  }

  /** Returns a live run's record. Null if it has ended or never existed. */
  run(id: RunId): RunRecord | null {
    const known = this.#runs.get(id);
    if (known) return known.now;
    const stored = readRun(this.object, id);
    this.#runs.set(id, { stored, now: stored });
    return stored;
  }

  /** Returns the record of a loaded run: the present one or, once the run has ended, the last one. */
  lastKnown(id: RunId): RunRecord | null {
    const known = this.#runs.get(id);
    return known?.now ?? known?.stored ?? null;
  }

  /** Returns a live run's record. @throws RunEndedError unless the run is alive. */
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

  /** Removes the record of an ended run. */
  drop(id: RunId): void {
    const entry = this.#runs.get(id);
    if (entry) entry.now = null;
  }

  /** Lets the ledger decide about a run, with the accounts of its path loaded. Keeps the effects of the decision. */
  decide<Decision>(run: RunId, decision: (state: LedgerState) => DecisionResult<Decision>): Decision {
    const path = this.path(run);
    this.load(path);
    return this.#apply(path, {}, decision);
  }

  /** Lets the ledger decide about an attempt in doubt. Null if there is no such doubt. */
  decideDoubt<Decision>(
    attempt: AttemptId,
    decision: (state: LedgerState) => DecisionResult<Decision>,
  ): Decision | null {
    const known = this.#doubts?.get(attempt);
    const doubt = known ?? Json.as<Doubt | null>(this.object.get(doubtKey(attempt)));
    if (!doubt || known === null) return null;
    // The accounts it was booked on, and the run's present path: a child may have been adopted since.
    this.load([...doubt.path, doubt.run]);
    const path = [...new Set([...doubt.path.filter((id) => this.slot(id)), ...this.path(doubt.run)])];
    this.load(path);
    return this.#apply(path, { [attempt]: doubt }, decision);
  }

  /** Returns the runs from the root down to a run, both included. Empty for a run that is not alive. */
  path(run: RunId): readonly RunId[] {
    if (!this.object.keepsReferences) {
      this.#prefetch([run]);
      this.#prefetch(this.run(run)?.ancestors ?? []);
    }
    return Ledger.path({ get: (id) => this.slot(id) }, run);
  }

  /** Loads the slots and records of several runs together. */
  load(runs: readonly RunId[]): void {
    if (!this.object.keepsReferences) this.#prefetch(runs);
    for (const id of runs) this.run(id);
  }

  #prefetch(runs: readonly RunId[]): void {
    this.object.prefetch([...this.#listMissingKeys(runs), ...this.#rows.slots.listMissingKeys(runs)]);
  }

  /** Returns the keys of the records that are not loaded. */
  #listMissingKeys(runs: readonly RunId[]): readonly string[] {
    return runs.filter((id) => !this.#runs.has(id)).map(runKey);
  }

  #apply<Decision>(
    path: readonly RunId[],
    doubts: LedgerState["doubts"],
    decision: (state: LedgerState) => DecisionResult<Decision>,
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

  /** Returns the effects of the ledger's decisions so far, each once. */
  takeEffects(): readonly LedgerEffect[] {
    return this.#effects.splice(0);
  }

  /** Appends an event to the tree's stream. `place` makes its id stable. */
  emit<Type extends EventType>(
    run: RunId,
    type: Type,
    payload: EventPayloads[Type],
    options: {
      readonly place?: string;
      readonly at?: number;
      readonly attempt?: AttemptId | null;
      /** The run's agent. Default: that of its record. */
      readonly agent?: AgentId;
    } = {},
  ): void {
    const seq = this.#tree.seq + this.#events.length + 1;
    const known = this.#runs.get(run);
    const event = {
      ...payload,
      v: protocolNumber,
      type,
      eventId: EventId.of(run, options.place ?? `${type}/${seq}`),
      treeId: this.#tree.treeId,
      runId: run,
      agent: options.agent ?? (known?.now ?? known?.stored ?? this.run(run))?.agentId,
      at: options.at ?? this.now,
      attempt: options.attempt ?? null,
      seq,
    };
    this.#events.push(fitEvent(Json.as<NumberedEvent>(Json.of(event))));
  }

  /** Returns the events of a run that this call has appended, to be passed to the run. */
  takeAppended(run: RunId): readonly NumberedEvent[] {
    this.#taken = run;
    return this.#events.filter(({ runId }) => runId === run);
  }

  /** Returns the events that this call has appended and passed to no run. */
  get untaken(): readonly NumberedEvent[] {
    return this.#taken === null ? this.#events : this.#events.filter(({ runId }) => runId !== this.#taken);
  }

  /** Puts an item into a live run's inbox and wakes the run. Does nothing if it has ended. */
  push(id: RunId, item: StoredItem): void {
    const run = this.run(id);
    if (!run) return;
    const circumstances = { object: this.object, now: this.now, tree: this.#tree, slot: () => this.slot(id) };
    const { inbox, isDelivered } = addItem(circumstances, { id, run }, item);
    this.put(id, { ...run, inbox });
    const { silent = [] } = this.#tree;
    if (isDelivered && !silent.includes(id)) this.change({ silent: [...silent, id] });
  }

  /** Sends an order to the projector. Orders are carried out one after the other. */
  orderProjector(order: ProjectorOrder, when?: SendOptions): void {
    const projector = { type: projectorType, key: this.object.key };
    this.object.send(projector, "take", Json.of(order), when);
  }

  /** Hands new events to the projector. */
  #project(): void {
    const { asked, upTo } = this.#tree.projection;
    if (!this.host.projects || asked || this.seq <= upTo) return;
    const { slots } = this.#rows;
    const handed = handOut({ ...this.#tree, seq: this.seq }, this.#events, {
      record: (run) => this.#runs.get(run),
      slot: (run) => (slots.isRead(run) ? slots.get(run) : undefined),
      getEnded: (run) => readEnded(this.object, run),
    });
    this.orderProjector(handed.order, handed.when);
    this.change({ projection: handed.projection });
  }

  /** Writes the changes. */
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
