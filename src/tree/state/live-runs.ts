import { Json, RunId, type AgentId, type ObjectContext, type Priority, type TreeId } from "#kernel";

/*
 * The list of a tree's live runs, for calls that search runs: the children of a run, the runs of an agent, candidates
 * for preemption, all runs. It is stored in pages by the number of the run, so a spawn or an end changes one page.
 * Calls of a continuing run do not read it.
 */

/** Runs whose numbers differ by less than this may be on one page. */
const numbersPerPage = 64;

/** The key of the list of page numbers that have runs. */
const indexKey = "live";

const pageKey = (page: number): string => `live/${page}`;

const getLivePage = (run: RunId): number => Math.floor(RunId.number(run) / numbersPerPage);

/** Returns the key of the page that lists a live run. */
export const livePageKey = (run: RunId): string => pageKey(getLivePage(run));

/** Whether a key is that of the list of pages, or of the first page. */
export const isFirstPageKey = (key: string): boolean => key === indexKey || key === pageKey(0);

/** Returns the keys that a call reads first if it looks for the children of a run, or ends it. */
export const liveKeys = (run: RunId): readonly string[] => [indexKey, livePageKey(run)];

/**
 * A live run: its number, its parent's number, its agent, and its priority if it holds a slot. Compact, because a page
 * has many.
 */
type Entry = readonly [number: number, parent: number | null, agent: AgentId, priority: Priority | null];

/** A live run and the fields to find it by. */
export interface LiveRun {
  readonly run: RunId;
  readonly parent: RunId | null;
  readonly agentId: AgentId;
  /** Null: it holds no slot. */
  readonly priority: Priority | null;
}

/** A changed entry of the list. `null`: the run has ended. */
export interface LiveChange {
  readonly run: RunId;
  readonly now: {
    readonly parent: RunId | null;
    /** Undefined: unchanged. */
    readonly agentId: AgentId | undefined;
    readonly priority: Priority | null;
  } | null;
}

/** The stored list of a tree's live runs. */
export class LiveRuns {
  readonly #object: ObjectContext;
  readonly #tree: TreeId;
  #all: readonly LiveRun[] | null = null;
  #children: ReadonlyMap<RunId | null, readonly LiveRun[]> | null = null;

  constructor(object: ObjectContext, tree: TreeId) {
    this.#object = object;
    this.#tree = tree;
  }

  /** Returns all live runs, in spawn order. */
  all(): readonly LiveRun[] {
    if (this.#all) return this.#all;
    const pages = this.#index();
    this.#object.prefetch(pages.map(pageKey));
    return (this.#all = pages.flatMap((page) => this.#page(page).map((entry) => this.#toRun(entry))));
  }

  children(run: RunId): readonly RunId[] {
    this.#children ??= Map.groupBy(this.all(), ({ parent }) => parent);
    return this.#children.get(run)?.map((child) => child.run) ?? [];
  }

  /** Yields the runs of an agent, the oldest first. Loads pages only as they are needed. */
  *ofAgent(agentId: AgentId): Generator<RunId> {
    const pages = this.#index();
    // The first match usually ends the search. A longer search doubles the number of loaded pages each time.
    for (let from = 0, end = 1; from < pages.length; from = end, end *= 2) {
      const next = pages.slice(from, end);
      this.#object.prefetch(next.map(pageKey));
      for (const page of next)
        for (const entry of this.#page(page)) if (entry[2] === agentId) yield this.#toRun(entry).run;
    }
  }

  /** Writes the changes. */
  commit(changes: readonly LiveChange[]): void {
    const byPage = Map.groupBy(changes, ({ run }) => getLivePage(run));
    if (!this.#object.keepsReferences) this.#object.prefetch([...byPage.keys()].map(pageKey));
    for (const [page, changed] of byPage) this.#change(page, changed);
  }

  #change(page: number, changes: readonly LiveChange[]): void {
    const before = this.#page(page);
    const entries = new Map(before.map((entry) => [entry[0], entry]));
    for (const { run, now } of changes) {
      const number = RunId.number(run);
      const agentId = now?.agentId ?? entries.get(number)?.[2];
      if (!now || !agentId) entries.delete(number);
      else entries.set(number, [number, now.parent && RunId.number(now.parent), agentId, now.priority]);
    }
    const after = [...entries.values()].toSorted(([first], [second]) => first - second);
    if (after.length > 0) this.#object.set(pageKey(page), Json.of(after));
    else this.#object.clear(pageKey(page));
    if ((before.length === 0) === (after.length === 0)) return;
    const others = this.#index().filter((other) => other !== page);
    const pages = after.length > 0 ? [...others, page].toSorted((first, second) => first - second) : others;
    if (pages.length > 0) this.#object.set(indexKey, Json.of(pages));
    else this.#object.clear(indexKey);
  }

  #index(): readonly number[] {
    return Json.as(this.#object.get(indexKey) ?? []);
  }

  #page(page: number): readonly Entry[] {
    return Json.as(this.#object.get(pageKey(page)) ?? []);
  }

  #toRun([number, parent, agentId, priority]: Entry): LiveRun {
    const toRunId = (id: number): RunId => RunId.of(this.#tree, id);
    return { run: toRunId(number), parent: parent === null ? null : toRunId(parent), agentId, priority };
  }
}
