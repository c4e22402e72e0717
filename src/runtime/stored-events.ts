import type { NumberedEvent, ObjectAddress, Store } from "#kernel";
import { treeAt, type ReplyOf } from "#tree";

const eventsPerRead = 256;

/** The store and the tree that events are read from. */
export interface StoredTree {
  readonly store: Store;
  readonly address: ObjectAddress;
  /** Asks the tree itself for the first event above a number. */
  readonly next: (after: number) => Promise<ReplyOf<"events">>;
}

/**
 * Yields the events of a tree from the store, until the tree has ended. Missing events are on their way to the store,
 * so the store does the waiting. The tree is remote, so it is asked only whether it has ended, and only when it may
 * have: a tree closes with the end of a run.
 */
export async function* storedEvents(
  { store, address, next }: StoredTree,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<NumberedEvent, void> {
  const { partition, tree } = treeAt(address);
  const read = (after: number): Promise<readonly NumberedEvent[]> =>
    store.events.read(partition, tree, { after, limit: eventsPerRead });
  let mayBeOver = true;
  let events = await read(from);
  for (let after = from; ;) {
    signal.throwIfAborted();
    yield* events;
    after = events.at(-1)?.seq ?? after;
    mayBeOver ||= events.some(({ type }) => type === "run.end");
    if (events.length >= eventsPerRead) {
      events = await read(after);
      continue;
    }
    if (mayBeOver) {
      const { events: unread, closed } = await next(after);
      mayBeOver = unread.length > 0;
      if (closed && !mayBeOver) return;
    }
    events = await store.events.changed(partition, tree, { after, signal });
  }
}
