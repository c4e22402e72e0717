import {
  type EventStore,
  Json,
  type NumberedEvent,
  type Partition,
  type TreeId,
  upgradeEvent,
} from "#kernel";
import { type Access, batches } from "./access.ts";
import type { ChangeNotifier } from "./change-notifier.ts";
import { writeUnlessErased } from "./erased-trees.ts";

const eventsPerLook = 256;

/** Notifies other processes that a tree has events up to a sequence. */
export type Tell = (partition: Partition, tree: TreeId, seq: number) => void;

export class SqlEvents implements EventStore {
  readonly #access: Access;
  readonly #notifier: ChangeNotifier;
  readonly #tell: Tell;

  constructor(access: Access, notifier: ChangeNotifier, tell: Tell) {
    this.#access = access;
    this.#notifier = notifier;
    this.#tell = tell;
  }

  async append(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void> {
    if (events.length === 0) return;
    await writeUnlessErased(this.#access, { partition, tree, part: "records" }, async (db, tenant) => {
      for (const batch of batches(events)) {
        const rows = batch.map((event) => ({
          tenant_id: tenant,
          tree_id: tree,
          seq: event.seq,
          body: JSON.stringify(event),
        }));
        await db
          .insertInto("reeve_event")
          .values(rows)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
    });
    this.#notifier.ring(partition, tree);
    this.#tell(partition, tree, Math.max(...events.map(({ seq }) => seq)));
  }

  async rewrite(partition: Partition, tree: TreeId, events: readonly NumberedEvent[]): Promise<void> {
    await this.#access.write(partition, async (db, tenant) => {
      for (const event of events)
        await db
          .updateTable("reeve_event")
          .set({ body: JSON.stringify(event) })
          .where((eb) => eb.and({ tenant_id: tenant, tree_id: tree, seq: event.seq }))
          .execute();
    });
  }

  async read(
    partition: Partition,
    tree: TreeId,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly NumberedEvent[]> {
    const rows = await this.#access.read(partition, (db, tenant) =>
      db
        .selectFrom("reeve_event")
        .select(["seq", "body"])
        .where("tenant_id", "=", tenant)
        .where("tree_id", "=", tree)
        .where("seq", ">", after)
        .orderBy("seq")
        .limit(limit)
        .execute(),
    );
    const gap = rows.findIndex(({ seq }, index) => seq !== after + 1 + index);
    const whole = gap === -1 ? rows : rows.slice(0, gap);
    return whole.map(({ body }) => upgradeEvent(Json.as(JSON.parse(body))));
  }

  async waitForEvents(
    partition: Partition,
    tree: TreeId,
    { after, signal }: { readonly after: number; readonly signal: AbortSignal },
  ): Promise<readonly NumberedEvent[]> {
    signal.throwIfAborted();
    const subscription = this.#notifier.listen(tree);
    signal.addEventListener("abort", subscription.close);
    try {
      for (;;) {
        const sign = subscription.next();
        const found = await this.read(partition, tree, { after, limit: eventsPerLook });
        signal.throwIfAborted();
        if (found.length > 0) return found;
        await sign;
      }
    } finally {
      signal.removeEventListener("abort", subscription.close);
      subscription.close();
    }
  }

  async *changes(
    partition: Partition,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<void, void> {
    signal.throwIfAborted();
    const subscription = this.#notifier.listenToAll(partition);
    signal.addEventListener("abort", subscription.close);
    try {
      for (;;) {
        const sign = subscription.next();
        yield;
        await sign;
        signal.throwIfAborted();
      }
    } finally {
      signal.removeEventListener("abort", subscription.close);
      subscription.close();
    }
  }
}
