import { keysOf, RunId, type AgentId, type ObjectContext, type Priority, type TreeId } from "#kernel";
import {
  Ledger,
  noRows,
  type Holder,
  type LedgerSource,
  type LedgerState,
  type Queued,
  type RunAccount,
  type Slot,
} from "#ledger";
import { LiveRuns, type LiveChange } from "./live-runs.ts";
import { StoredRows } from "./stored-rows.ts";
import { readSlot, slotKey, writeSlot } from "./stored-run.ts";

/*
 * The rows of a tree's ledger, each under its own key: the slot of a run, the runs that it waits for, a page of a
 * queue. The ledger reads through this class, so a call loads only the rows that its decisions need.
 *
 * 1. A live run has a slot and is on the list of live runs. Both change in the same call.
 * 2. Later decisions of a call read the rows that it has changed.
 */

const waitsKey = (run: RunId): string => `waits/${run}`;

const linePageKey = (name: string): string => `line/${name}`;

type Rows = Pick<LedgerState, "slots" | "waits" | "pages">;

type PrefetchedRows = Parameters<LedgerSource["prefetch"]>[0];

const noWaits: Rows["waits"] = Object.freeze(noRows());
const noPages: Rows["pages"] = Object.freeze(noRows());

/** The accounts of a tree, which are in the records of its runs. */
export interface AccountRows {
  get(run: RunId): RunAccount | undefined;
  /** Returns the keys of rows that are not read yet. */
  listMissingKeys(runs: readonly RunId[]): readonly string[];
}

/** The rows of the ledger that one call reads and changes. */
export class LedgerRows {
  readonly #object: ObjectContext;
  readonly #tree: TreeId;
  readonly #accounts: AccountRows;
  readonly slots: StoredRows<RunId, Slot>;
  // Created when they are needed: most calls decide about money only.
  #waits: StoredRows<RunId, readonly RunId[]> | null = null;
  #pages: StoredRows<string, readonly Queued[]> | null = null;
  #live: LiveRuns | null = null;
  #source: LedgerSource | null = null;

  constructor(object: ObjectContext, tree: TreeId, accounts: AccountRows) {
    this.#object = object;
    this.#tree = tree;
    this.#accounts = accounts;
    this.slots = new StoredRows(object, slotKey, { read: readSlot, write: writeSlot });
  }

  /** Returns the rows that were read so far, and the source of the others. */
  read(): Rows & Pick<LedgerState, "source"> {
    return {
      slots: this.slots.present,
      waits: this.#waits?.present ?? noWaits,
      pages: this.#pages?.present ?? noPages,
      source: (this.#source ??= this.#createSource()),
    };
  }

  #createSource(): LedgerSource {
    return {
      slot: (run) => this.slots.get(run) ?? undefined,
      waits: (run) => this.#getWaitRows().get(run) ?? undefined,
      account: (run) => this.#accounts.get(run),
      page: (name) => this.#getPageRows().get(name) ?? undefined,
      runs: () => this.runs(),
      children: (run) =>
        this.#getLiveRuns()
          .children(run)
          .filter((child) => !this.#hasEnded(child)),
      holders: () => this.#holders(),
      prefetch: (rows) => this.#prefetch(rows),
    };
  }

  #prefetch({ slots = [], waits = [], pages = [], accounts = [] }: PrefetchedRows): void {
    if (this.#object.keepsReferences) return;
    this.#object.prefetch([
      ...this.#accounts.listMissingKeys(accounts),
      ...this.slots.listMissingKeys(slots),
      ...this.#getWaitRows().listMissingKeys(waits),
      ...this.#getPageRows().listMissingKeys([...new Set(pages)]),
    ]);
  }

  #getWaitRows(): StoredRows<RunId, readonly RunId[]> {
    return (this.#waits ??= new StoredRows(this.#object, waitsKey));
  }

  #getPageRows(): StoredRows<string, readonly Queued[]> {
    return (this.#pages ??= new StoredRows(this.#object, linePageKey));
  }

  #getLiveRuns(): LiveRuns {
    return (this.#live ??= new LiveRuns(this.#object, this.#tree));
  }

  /** Takes over the changes of a decision. */
  apply(before: Rows, after: Rows): void {
    if (before.slots !== after.slots) change(this.slots, before.slots, after.slots);
    if (before.waits !== after.waits) change(this.#getWaitRows(), before.waits, after.waits);
    if (before.pages !== after.pages) change(this.#getPageRows(), before.pages, after.pages);
  }

  /** Returns every live run, in spawn order. */
  runs(): readonly RunId[] {
    const stored = this.#getLiveRuns()
      .all()
      .flatMap(({ run }) => (this.#hasEnded(run) ? [] : [run]));
    return [...stored, ...this.#listSpawned()];
  }

  /** Returns these runs and all their live descendants. */
  listSubtree(runs: readonly RunId[]): readonly RunId[] {
    const found = new Set(runs);
    const present = this.slots.present;
    const known = Map.groupBy(keysOf(present), (run) => present[run]?.parent ?? null);
    // The set grows during the iteration.
    for (const parent of found) {
      for (const child of this.#getLiveRuns().children(parent))
        if (!this.slots.isRead(child)) found.add(child);
      for (const child of known.get(parent) ?? []) found.add(child);
    }
    return [...found];
  }

  /** Returns the oldest run of an agent that is not cancelled. Null if there is none. */
  findOldest(agentId: AgentId, agentOf: (run: RunId) => AgentId | undefined): RunId | null {
    const isOpen = (run: RunId): boolean => this.slots.get(run)?.cancelled === null;
    for (const run of this.#getLiveRuns().ofAgent(agentId)) if (isOpen(run)) return run;
    return this.#listSpawned().find((run) => agentOf(run) === agentId && isOpen(run)) ?? null;
  }

  commit(agentOf: (run: RunId) => AgentId | undefined): void {
    const changes: LiveChange[] = [];
    for (const { id: run, stored, now } of this.slots.changes()) {
      const isListed =
        stored && now && stored.parent === now.parent && getHeldPriority(stored) === getHeldPriority(now);
      if (isListed) continue;
      const { parent = null } = now ?? {};
      changes.push({ run, now: now && { parent, agentId: agentOf(run), priority: getHeldPriority(now) } });
    }
    if (changes.length > 0) this.#getLiveRuns().commit(changes);
    this.slots.commit();
    this.#waits?.commit();
    this.#pages?.commit();
    for (const { run, now } of changes) if (!now) this.#object.clear(waitsKey(run));
  }

  /**
   * Returns the runs that hold a slot, without those spawned by this call: the ledger knows them. Runs are numbered in
   * spawn order.
   */
  #holders(): readonly Holder[] {
    return this.#getLiveRuns()
      .all()
      .flatMap(({ run, priority: listed }) => {
        const read = this.slots.isRead(run) ? this.slots.get(run) : undefined;
        const priority = read === undefined ? listed : read && getHeldPriority(read);
        return priority === null ? [] : [{ run, priority, order: RunId.number(run) }];
      });
  }

  #hasEnded(run: RunId): boolean {
    return this.slots.isRead(run) && this.slots.get(run) === null;
  }

  /** Returns the runs that this call has spawned. */
  #listSpawned(): readonly RunId[] {
    return this.slots.changes().flatMap(({ id, stored, now }) => (!stored && now ? [id] : []));
  }
}

const getHeldPriority = (slot: Slot): Priority | null => (Ledger.holds(slot) ? slot.priority : null);

/** Applies changed rows. An empty list is stored as absent. */
function change<Id extends string, Row extends object>(
  rows: StoredRows<Id, Row>,
  before: Readonly<Record<Id, Row>>,
  after: Readonly<Record<Id, Row>>,
): void {
  for (const id of keysOf(after)) {
    const row = after[id];
    if (row !== before[id]) rows.set(id, Array.isArray(row) && row.length === 0 ? null : row);
  }
  for (const id of keysOf(before)) if (!(id in after)) rows.set(id, null);
}
