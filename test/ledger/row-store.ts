import { isDeepStrictEqual } from "node:util";
import { keysOf, Priority, type RunId } from "#kernel";
import { Ledger, type DecisionResult, type LedgerState, type Queued } from "#ledger";
import { deepFreeze } from "./tree.ts";

type Table = "slots" | "waits" | "pages";

/** A host that keeps each row of a ledger apart, and gives a decision no row before it asks. */
export class RowStore {
  #state: LedgerState;

  constructor(state: LedgerState) {
    this.#state = state;
  }

  decide<Decision>(rule: (state: LedgerState) => DecisionResult<Decision>): DecisionResult<Decision> {
    const { slots, waits, pages } = this.#state;
    const read = new Set<RunId>();
    const source = {
      slot: (run: RunId) => {
        read.add(run);
        return slots[run];
      },
      waits: (run: RunId) => waits[run],
      account: (run: RunId) => this.#state.accounts[run],
      page: (name: string) => pages[name],
      runs: () => keysOf(slots),
      children: (run: RunId) => keysOf(slots).filter((child) => slots[child]?.parent === run),
      holders: () =>
        keysOf(slots).flatMap((run) =>
          slots[run] && Ledger.holds(slots[run])
            ? [{ run, priority: slots[run].priority, order: slots[run].order }]
            : [],
        ),
      prefetch: () => undefined,
    };
    const decided = rule(deepFreeze({ ...this.#state, slots: {}, waits: {}, pages: {}, source }));
    const { state } = decided;
    // Only slots of runs without an account were deleted.
    const ended = keysOf(slots).filter((run) => !state.accounts[run]);
    const changed = (table: Table): Record<string, unknown> => ({ ...this.#state[table], ...state[table] });
    const next = { slots: changed("slots"), waits: changed("waits"), pages: changed("pages") };
    for (const run of ended) {
      if (!read.has(run)) throw new Error(`the slot of ${run} is deleted and was not read`);
      delete next.slots[run];
      delete next.waits[run];
    }
    this.#state = Object.assign({}, this.#state, state, next);
    return decided;
  }

  /** @throws Error if a host that holds the whole state has another one. */
  expectEqual({ tree, slots, waits, pages }: LedgerState): void {
    const own = this.#state;
    if (
      !isDeepStrictEqual(
        [own.tree, sortEntries(own.slots), sortEntries(own.pages)],
        [tree, sortEntries(slots), sortEntries(pages)],
      )
    )
      throw new Error("a host that loads rows one by one has another state");
    if (!isDeepStrictEqual(sortEntries(own.waits), sortEntries(waits))) throw new Error("other waits");
  }
}

const sortEntries = (record: Readonly<Record<string, unknown>>): unknown =>
  Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));

function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected))
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

/** Compares the headcount figures with the slots. @throws Error */
export function checkHeadcount({ tree, slots, waits, pages }: LedgerState): void {
  const { live, holders, active, skipped, line } = tree.headcount;
  const all = keysOf(slots).flatMap((run) => (slots[run] ? [{ run, ...slots[run] }] : []));
  const held = all.filter(Ledger.holds);
  expectEqual("live", live, all.length);
  expectEqual("holders", holders, held.length);
  const blocked = all.filter(
    ({ phase, asleep, cancelled, waitsForRuns }) =>
      (phase === "waiting" || asleep) && cancelled === null && waitsForRuns,
  );
  expectEqual("active", active, held.length + all.filter(({ asleep }) => asleep).length - blocked.length);
  for (const { run } of blocked) expectEqual(`waits of ${run}`, waits[run] !== undefined, true);
  expectEqual("skipped", new Set(skipped), new Set(all.filter((slot) => slot.skipped).map(({ run }) => run)));
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const still = findStill(slots);
  for (const { run, children, idleChildren, idleSince } of all) {
    const below = byParent.get(run) ?? [];
    expectEqual(`children of ${run}`, children, below.length);
    expectEqual(
      `children of ${run} that stand still`,
      idleChildren,
      below.filter((child) => still.has(child.run)).length,
    );
    expectEqual(`standstill of ${run}`, idleSince !== null, still.has(run));
  }
  for (const priority of Priority.all) {
    const queue = all.filter(
      (slot) =>
        slot.priority === priority &&
        (slot.phase === "pending" || (slot.phase === "parked" && !slot.asleep)) &&
        !slot.held &&
        slot.cancelled === null &&
        !slot.skipped,
    );
    const expected = queue.toSorted((a, b) => a.since - b.since || a.order - b.order).map(({ run }) => run);
    const { first, last } = line[priority] ?? { first: 0, last: -1 };
    const found: Queued[] = [];
    for (let page = first; page <= last; page++) found.push(...(pages[`${priority}/${page}`] ?? []));
    expectEqual(
      `line of ${priority}`,
      found.map(({ run }) => run),
      expected,
    );
  }
}

/** Returns the runs that stand still: neither they nor any run below them can make progress. */
function findStill(slots: LedgerState["slots"]): ReadonlySet<RunId> {
  const still = new Set<RunId>();
  const runs = keysOf(slots);
  const canWork = (run: RunId): boolean => {
    const slot = slots[run];
    const below = runs.filter((child) => slots[child]?.parent === run);
    if (!slot || slot.cancelled !== null || below.some((child) => !still.has(child))) return true;
    if (slot.held || slot.phase === "pending" || slot.phase === "parked") return false;
    if (slot.phase !== "waiting") return true;
    return !slot.isBlocked && !(slot.waitsForRuns && below.length > 0);
  };
  for (let size = -1; size < still.size;) {
    size = still.size;
    for (const run of runs) if (!canWork(run)) still.add(run);
  }
  return still;
}

/** The total time for which each run has stood still. */
export type IdleTimes = ReadonlyMap<RunId, number>;

/** Adds time that passed in a state. */
export function addIdleTime(before: IdleTimes, { slots }: LedgerState, ms: number): IdleTimes {
  const still = findStill(slots);
  return new Map(keysOf(slots).map((run) => [run, (before.get(run) ?? 0) + (still.has(run) ? ms : 0)]));
}

/** Compares the clocks of the slots with the times that were added up. @throws Error */
export function checkClocks({ slots }: LedgerState, idle: IdleTimes, at: number): void {
  for (const run of keysOf(slots))
    expectEqual(`idle time of ${run}`, slots[run] && Ledger.idleTime(slots[run], at), idle.get(run) ?? 0);
}
