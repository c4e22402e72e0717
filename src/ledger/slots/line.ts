import { Priority, type RunId } from "#kernel";
import { byRank } from "./queue-order.ts";
import type { LineRanges, PageRange, Queued, Slot, TreeState } from "../state.ts";
import type { Table } from "../table.ts";

/*
 * The two queues of a tree: runs that can use a slot, and model calls that wait for money. Within one priority, the
 * entry that has waited longer always goes first. So there is one queue per priority, and the next entry is the best of
 * at most five queue heads. A queue is stored in pages: entries join at its end and leave at its start, so one page
 * changes per operation.
 *
 * 1. The entries of a queue are sorted by `since`, then by `order`, over all of its pages.
 * 2. A slot, or a waiting call, names its page, so an entry that leaves from the middle is found.
 */

const pageSize = 64;

/** The name of one of the two queues. */
export type LineName = "runs" | "calls";

/** The part of a draft that the queues change. */
interface Lines {
  tree: TreeState;
  readonly pages: Table<string, readonly Queued[]>;
}

/** A position in a queue. `page` null: none. */
interface QueuePosition {
  readonly priority: Priority;
  readonly page: number | null;
}

/** One queue of a line: the entries of one priority. */
interface QueueName {
  readonly line: LineName;
  readonly priority: Priority;
}

const toPageName = (line: LineName, priority: Priority, page: number): string =>
  line === "runs" ? `${priority}/${page}` : `${line}/${priority}/${page}`;

const rangesOf = ({ tree }: Lines, line: LineName): LineRanges =>
  line === "runs" ? tree.headcount.line : tree.calls.line;

/** Returns the name of the queue page that a run is in. Null if it is in none. */
export function getRunPage({ priority, page }: Slot): string | null {
  return page === null ? null : toPageName("runs", priority, page);
}

const compareQueued = (a: Queued, b: Queued): number => a.since - b.since || a.order - b.order;

/** Adds an entry to a queue. Returns the number of its page. */
export function enterLine(draft: Lines, { line, priority }: QueueName, entry: Queued): number {
  const queue = rangesOf(draft, line)[priority];
  const range = queue ?? { first: 0, last: 0 };
  const read = (page: number): readonly Queued[] =>
    (queue && draft.pages.get(toPageName(line, priority, page))) ?? [];
  const startsAfter = ([first]: readonly Queued[]): boolean => !first || compareQueued(entry, first) < 0;
  let page = range.last;
  // Entries join at the end, except one whose priority has changed or that waits again.
  while (page > range.first && startsAfter(read(page))) page -= 1;
  const last = read(page).at(-1);
  if (last && read(page).length >= pageSize && compareQueued(last, entry) < 0) page += 1;
  draft.pages.put(toPageName(line, priority, page), [...read(page), entry].toSorted(compareQueued));
  setRange(draft, { line, priority }, { first: range.first, last: Math.max(range.last, page) });
  return page;
}

/** Removes an entry from a queue. `place`: its position. */
export function leaveLine(
  draft: Lines,
  { line, place }: { readonly line: LineName; readonly place: QueuePosition },
  isEntry: (entry: Queued) => boolean,
): void {
  const { priority, page } = place;
  const range = rangesOf(draft, line)[priority];
  if (page === null || !range) return;
  const left = draft.pages.need(toPageName(line, priority, page)).filter((entry) => !isEntry(entry));
  draft.pages.put(toPageName(line, priority, page), left);
  if (left.length > 0) return;
  const isEmpty = (number: number): boolean => !draft.pages.get(toPageName(line, priority, number))?.length;
  let { first } = range;
  while (first <= range.last && isEmpty(first)) first += 1;
  setRange(draft, { line, priority }, first > range.last ? null : { first, last: range.last });
}

function setRange(draft: Lines, { line, priority }: QueueName, range: PageRange | null): void {
  const { tree } = draft;
  const { [priority]: before, ...others } = rangesOf(draft, line);
  if (range && before?.first === range.first && before.last === range.last) return;
  const ranges = range ? { ...others, [priority]: range } : others;
  draft.tree =
    line === "runs"
      ? { ...tree, headcount: { ...tree.headcount, line: ranges } }
      : { ...tree, calls: { ...tree.calls, line: ranges } };
}

/** Returns the best queued runs, at most `count`. Leaves out runs whose deadline has passed. */
export function firstInLine(draft: Lines, count: number, at: number): readonly RunId[] {
  const found: RunId[] = [];
  for (const { run, deadline } of inOrder(draft, "runs", at)) {
    if (deadline !== null && at > deadline) continue;
    found.push(run);
    if (found.length >= count) break;
  }
  return found;
}

/** An entry of a queue with its priority. */
export interface RankedCall extends Queued {
  readonly priority: Priority;
}

/** Yields the entries of a queue, best first. Reads pages only as they are needed. */
export function* inOrder(draft: Lines, line: LineName, at: number): Generator<RankedCall, undefined> {
  const compareHeads = byRank(draft.tree.ageingMs, at);
  const queues = Priority.all.map((priority) => ({ priority, entries: queueOf(draft, line, priority) }));
  const heads = queues.flatMap(({ priority, entries }) => nextOf(priority, entries));
  for (;;) {
    const best = heads.toSorted(compareHeads)[0];
    if (!best) return;
    heads.splice(heads.indexOf(best), 1, ...nextOf(best.priority, best.rest));
    yield best;
  }
}

interface Head extends RankedCall {
  /** The rest of its queue. */
  readonly rest: Iterator<Queued>;
}

function nextOf(priority: Priority, rest: Iterator<Queued>): readonly Head[] {
  const next = rest.next();
  return next.done === true ? [] : [{ ...next.value, priority, rest }];
}

function* queueOf(draft: Lines, line: LineName, priority: Priority): Generator<Queued, undefined> {
  const range = rangesOf(draft, line)[priority];
  if (!range) return;
  for (let page = range.first; page <= range.last; page++)
    yield* draft.pages.get(toPageName(line, priority, page)) ?? [];
}
