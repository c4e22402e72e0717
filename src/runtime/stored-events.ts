import type { NumberedEvent, ObjectAddress, Store } from "#kernel";
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
 * there, so waiting is the store's part. The tree, which is far, is asked only whether it is over, and only when it may
 * be: a tree closes with the end of a run.
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
