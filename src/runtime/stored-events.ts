import { RunId, type NumberedEvent, type ObjectAddress, type Store } from "#kernel";
import { treeAt, type ReplyOf } from "#tree";

const eventsPerRead = 256;

/** The store and the tree that events are read from. */
export interface StoredTree {
  readonly store: Store;
  readonly address: ObjectAddress;
  /** Asks the tree itself for the first event above a number. */
  readonly readNext: (after: number) => Promise<ReplyOf<"events">>;
}

/**
 * Yields the events of a tree from the store, until the tree has ended. Missing events are on their way to the store,
 * so the store does the waiting. The tree is remote, so it is asked only whether it has ended, and only when it may
 * have: a tree closes with the end of a run.
 */
export async function* storedEvents(
  { store, address, readNext }: StoredTree,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<NumberedEvent, void> {
  const { partition, tree } = treeAt(address);
  const read = (after: number): Promise<readonly NumberedEvent[]> =>
    store.events.read(partition, tree, { after, limit: eventsPerRead });
  let events = await read(from);
  // A tree closes with the end of a run, and not before its root has ended. A reader that skips events may have skipped
  // that end. A reader that finds no events may be there before the tree.
  let hasRootEnded = from > 0;
  let mayBeOver = from > 0 || events.length === 0;
  for (let after = from; ;) {
    signal.throwIfAborted();
    yield* events;
    after = events.at(-1)?.seq ?? after;
    const ends = events.filter(({ type }) => type === "run.end");
    hasRootEnded ||= ends.some(({ runId }) => runId === RunId.root(tree));
    mayBeOver ||= hasRootEnded && ends.length > 0;
    if (events.length >= eventsPerRead) {
      events = await read(after);
      continue;
    }
    if (mayBeOver) {
      const { events: unread, closed, more } = await readNext(after);
      if (closed && unread.length === 0) return;
      // Events that the tree no longer has are on their way to the store, unless they were erased there.
      if (more && unread.length === 0 && (await store.isErased(partition, tree))) return;
      // A tree with more events than fit into an answer has not said yet whether it is closed.
      mayBeOver = closed || more;
    }
    events = await store.events.waitForEvents(partition, tree, { after, signal });
  }
}
