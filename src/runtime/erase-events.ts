import { eraseEvent, type NumberedEvent, type Partition, type Store, type TreeId } from "#kernel";

const eventsPerRead = 256;

/** Erases the content of a tree's events in the store. Default: of all of them. */
export async function eraseEvents(
  store: Store,
  { partition, tree }: { readonly partition: Partition; readonly tree: TreeId },
  isErasable: (event: NumberedEvent) => boolean = () => true,
): Promise<void> {
  for (let after = 0; ;) {
    const events = await store.events.read(partition, tree, { after, limit: eventsPerRead });
    const last = events.at(-1);
    if (!last) return;
    const changed = events.filter((event) => isErasable(event) && eraseEvent(event) !== event);
    if (changed.length > 0) await store.events.rewrite(partition, tree, changed.map(eraseEvent));
    after = last.seq;
  }
}
