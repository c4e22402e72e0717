import assert from "node:assert/strict";
import { Json, type NumberedEvent, type Store, TreeId } from "#kernel";
import { type Desk, eventOf, eventsOf, createTenant, type StoreCase, storeCase, tree } from "./harness.ts";

const never = new AbortController().signal;

/** Reads like a subscriber: existing events, then waits for more, until it has seen `until`. */
async function tail(
  { tenant }: Desk,
  store: Store,
  { until, after = 0 }: { readonly until: number; readonly after?: number },
): Promise<readonly NumberedEvent[]> {
  const seen: NumberedEvent[] = [];
  for (let cursor = after; cursor < until; cursor = seen.at(-1)?.seq ?? after) {
    await store.events.waitForEvents(tenant, tree, { after: cursor, signal: never });
    seen.push(...(await store.events.read(tenant, tree, { after: cursor, limit: 7 })));
  }
  return seen;
}

/** Reads until the signal ends it: there may be signs too many. */
async function drainChanges(changes: AsyncGenerator<void, void>): Promise<void> {
  while (!(await changes.next()).done);
}

export const eventCases: readonly StoreCase[] = [
  storeCase("an event appended twice is stored once, in its first form", async ({ store, tenant }) => {
    await store.events.append(tenant, tree, [eventOf(1), eventOf(2)]);
    await store.events.append(tenant, tree, [eventOf(2, "another"), eventOf(3)]);
    assert.deepEqual(await store.events.read(tenant, tree, { after: 0, limit: 10 }), eventsOf(1, 3));
  }),

  storeCase("an event is rewritten in its place, and no other is added", async ({ store, tenant }) => {
    await store.events.append(tenant, tree, eventsOf(1, 3), ({ seq }) => seq === 2);
    await store.events.rewrite(tenant, tree, [eventOf(2, "less"), eventOf(4)]);
    const expected = [eventOf(1), eventOf(2, "less"), eventOf(3)];
    assert.deepEqual(await store.events.read(tenant, tree, { after: 0, limit: 10 }), expected);
    assert.deepEqual(await store.events.read(createTenant(), tree, { after: 0, limit: 10 }), []);
  }),

  storeCase("events of an earlier protocol are read with the present names", async ({ store, tenant }) => {
    const { treeId, runId, agent, at, attempt, ...rest } = eventOf(1);
    const base = { v: 2, treeId, runId, agent, at, attempt };
    const denied = { ...base, seq: 1, type: "spawn.denied", eventId: rest.eventId, childAgent: agent };
    const [, second] = eventsOf(1, 2);
    const end = { status: "failed", stopReason: "error", durationMs: 1, usage: { input: 0, output: 0 } };
    const ended = { ...base, seq: 2, type: "run.end", eventId: second?.eventId ?? "", ...end, costMicros: 0 };
    const error = { code: "budget-exhausted", dimension: "agents", limit: 1, used: 1 };
    const withReason = (reason: string): readonly NumberedEvent[] =>
      Json.as(
        Json.of([
          { ...denied, reason },
          { ...ended, error: { ...error, reason } },
        ]),
      );
    await store.events.append(tenant, tree, withReason("nobody-below"));
    const present = withReason("no-lower-priority");
    assert.deepEqual(await store.events.read(tenant, tree, { after: 0, limit: 2 }), present);
    assert.deepEqual(await store.events.waitForEvents(tenant, tree, { after: 0, signal: never }), present);
  }),

  storeCase("every character of an event survives", async ({ store, tenant }) => {
    const event = eventOf(1, "\u0000 \ud800 \u{1f600} ' \" \\ \n %s $1 ?");
    await store.events.append(tenant, tree, [event]);
    assert.deepEqual(await store.events.read(tenant, tree, { after: 0, limit: 1 }), [event]);
  }),

  storeCase("appending nothing is not an error, and an unknown tree is empty", async ({ store, tenant }) => {
    await store.events.append(tenant, tree, []);
    assert.deepEqual(await store.events.read(tenant, tree, { after: 0, limit: 10 }), []);
  }),

  storeCase(
    "events are read in order above a cursor, at most as many as asked for",
    async ({ store, tenant }) => {
      await store.events.append(tenant, tree, eventsOf(1, 30).toReversed());
      assert.deepEqual(await store.events.read(tenant, tree, { after: 10, limit: 5 }), eventsOf(11, 15));
      assert.deepEqual(await store.events.read(tenant, tree, { after: 28, limit: 5 }), eventsOf(29, 30));
      assert.deepEqual(await store.events.read(tenant, tree, { after: 30, limit: 5 }), []);
    },
  ),

  storeCase("a reader never skips an event that is not stored yet", async ({ store, tenant }) => {
    await store.events.append(tenant, tree, [eventOf(1), eventOf(3)]);
    assert.deepEqual(await store.events.read(tenant, tree, { after: 0, limit: 10 }), [eventOf(1)]);
    assert.deepEqual(await store.events.read(tenant, tree, { after: 1, limit: 10 }), []);
    await store.events.append(tenant, tree, [eventOf(2)]);
    assert.deepEqual(await store.events.read(tenant, tree, { after: 1, limit: 10 }), eventsOf(2, 3));
  }),

  storeCase(
    "a wait ends at once if there are events, else when the next one comes",
    async ({ store, tenant }) => {
      await store.events.append(tenant, tree, [eventOf(1)]);
      assert.deepEqual(await store.events.waitForEvents(tenant, tree, { after: 0, signal: never }), [
        eventOf(1),
      ]);
      const waiting = store.events.waitForEvents(tenant, tree, { after: 1, signal: never });
      await store.events.append(tenant, tree, [eventOf(2)]);
      assert.deepEqual(await waiting, [eventOf(2)]);
    },
  ),

  storeCase(
    "a wait is not ended by another tree or tenant, and rejects with its signal's reason",
    async (desk) => {
      const { store, tenant } = desk;
      const controller = new AbortController();
      const waiting = store.events.waitForEvents(tenant, tree, { after: 0, signal: controller.signal });
      const refused = assert.rejects(waiting, (error) => error === controller.signal.reason);
      await store.events.append(createTenant(), tree, [eventOf(1)]);
      const still = await Promise.race([
        waiting.then(() => "woken"),
        store.events.read(tenant, tree, { after: 0, limit: 1 }),
      ]);
      assert.deepEqual(still, []);
      controller.abort(new Error("enough"));
      await refused;
      await assert.rejects(
        store.events.waitForEvents(tenant, tree, { after: 0, signal: controller.signal }),
        {
          message: "enough",
        },
      );
    },
  ),

  storeCase(
    "a tenant's changes are reported at once, and again after appends to any of its trees",
    async (desk) => {
      const { store, tenant } = desk;
      const writer = await desk.harness.open();
      const controller = new AbortController();
      const changes = store.events.changes(tenant, { signal: controller.signal });
      try {
        assert.equal((await changes.next()).done, false);
        for (const [seq, by] of [store, writer, writer].entries()) {
          await by.events.append(tenant, TreeId.of(`tree-${seq}`), [eventOf(1)]);
          assert.equal((await changes.next()).done, false);
        }
        await desk.harness.cut?.();
        await writer.events.append(tenant, tree, [eventOf(1)]);
        assert.equal((await changes.next()).done, false);
        const waiting = assert.rejects(drainChanges(changes), (error) => error === controller.signal.reason);
        controller.abort(new Error("enough"));
        await waiting;
      } finally {
        await writer[Symbol.asyncDispose]();
      }
    },
  ),

  storeCase("two readers with stores of their own see the same events in the same order", async (desk) => {
    const other = await desk.harness.open();
    try {
      const readers = [tail(desk, desk.store, { until: 200 }), tail(desk, other, { until: 200 })];
      for (let seq = 1; seq <= 200; seq += 10)
        await desk.store.events.append(desk.tenant, tree, eventsOf(seq, seq + 9));
      for (const seen of await Promise.all(readers)) assert.deepEqual(seen, eventsOf(1, 200));
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),

  storeCase("a tail continues from its cursor after every connection was cut", async (desk) => {
    const writer = await desk.harness.open();
    try {
      await writer.events.append(desk.tenant, tree, eventsOf(1, 20));
      const begun = await tail(desk, desk.store, { until: 20 });
      const rest = tail(desk, desk.store, { until: 60, after: 20 });
      for (let seq = 21; seq <= 60; seq += 10) {
        await desk.harness.cut?.();
        await writer.events.append(desk.tenant, tree, eventsOf(seq, seq + 9));
      }
      assert.deepEqual([...begun, ...(await rest)], eventsOf(1, 60));
    } finally {
      await writer[Symbol.asyncDispose]();
    }
  }),
];
