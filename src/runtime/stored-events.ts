import { RunId, type NumberedEvent, type ObjectAddress, type Store } from "#kernel";
import { treeAt, type ReplyOf } from "#tree";

const eventsPerRead = 256;

/** Where the events of a tree are read, and who knows whether more will come. */
export interface StoredTree {
  readonly store: Store;
  readonly address: ObjectAddress;
  /** Asks the tree itself for the first event above a number. */
  readonly next: (after: number) => Promise<ReplyOf<"events">>;
}

/**
 * The events of a tree as the store gets them, until the tree is over. What the store does not have yet is on its way
 * there, so waiting is the store's part. The store also tells whether the tree is over: the record of its root counts the
 * live runs. The tree, which is far, is asked only if the store has no such record.
 */
export async function* storedEvents(
  tree: StoredTree,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<NumberedEvent, void> {
  const { store, address } = tree;
  const { partition, tree: id } = treeAt(address);
  const read = (after: number): Promise<readonly NumberedEvent[]> =>
    store.events.read(partition, id, { after, limit: eventsPerRead });
  let events = await read(from);
  // A tree closes with the end of a run, and not before its root has ended: a reader that skips events may have skipped that.
  let hasRootEnded = from > 0;
  let mayBeOver = from > 0 || events.length === 0;
  for (let after = from; ;) {
    signal.throwIfAborted();
    yield* events;
    after = events.at(-1)?.seq ?? after;
    const ends = events.filter(({ type }) => type === "run.end");
    hasRootEnded ||= ends.some(({ runId }) => runId === RunId.root(id));
    mayBeOver ||= hasRootEnded && ends.length > 0;
    if (events.length >= eventsPerRead) {
      events = await read(after);
      continue;
    }
    if (mayBeOver) {
      const { isOver, hasUnread } = await ask(tree, after);
      if (isOver && !hasUnread) return;
      mayBeOver = hasUnread;
    }
    events = await store.events.changed(partition, id, { after, signal });
  }
}

/** Returns whether a tree is over, and whether it has events above a number. */
async function ask(
  { store, address, next }: StoredTree,
  after: number,
): Promise<{ readonly isOver: boolean; readonly hasUnread: boolean }> {
  const { partition, tree } = treeAt(address);
  const runs = await store.runs.tree(partition, tree);
  const root = runs.find(({ runId }) => runId === RunId.root(tree));
  if (root) return { isOver: root.liveAgents === 0, hasUnread: root.seq > after };
  const { events, closed } = await next(after);
  return { isOver: closed, hasUnread: events.length > 0 };
}
