import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EntryId, type Partition, RunId, SessionId, Spend, type Store, TreeId } from "#kernel";
import {
  annOwns,
  entryOf,
  eventOf,
  factOf,
  key,
  manifestOf,
  questionOf,
  runOf,
  sessionOf,
  createTenant,
  type StoreCase,
  storeCase,
  tree,
} from "./harness.ts";

interface Tenant {
  readonly partition: Partition;
  /** Occurs in everything it writes and nowhere else. */
  readonly canary: string;
}

const page = { size: 1_000 };

/** The `n`-th write: every tenant uses the same ids, so only the partition keeps them apart. */
const writes: readonly ((store: Store, tenant: Tenant, n: number) => Promise<unknown>)[] = [
  ({ runs }, { partition, canary }, n) =>
    runs.put(partition, runOf({ runId: RunId.root(TreeId.of(`t${n}`)), sessionId: SessionId.of(canary) })),
  ({ events }, { partition, canary }, n) => events.append(partition, tree, [eventOf(n, canary)]),
  ({ sessions }, { partition, canary }, n) =>
    sessions.append(partition, key, [entryOf(`e${n}`, `e${n - 1}`, { text: canary })]),
  ({ memory }, { partition, canary }, n) =>
    memory.remember(partition, annOwns, factOf(`f${n}`, { key: `k${n % 5}`, value: canary, validFrom: n })),
  ({ approvals }, { partition, canary }, n) =>
    approvals.request(partition, questionOf(n, { arguments: canary, why: canary })),
  ({ approvals }, { partition, canary }, n) =>
    approvals.decide(partition, questionOf(n).id, { decision: "denied", by: canary, at: n }),
  ({ audit }, { partition, canary }, n) =>
    audit.append(partition, [
      {
        index: n,
        at: n,
        kind: "note",
        data: canary,
        source: `t/${n}`,
        keyId: "k",
        previous: n === 0 ? "" : `${canary}-${n - 1}`,
        hash: `${canary}-${n}`,
      },
    ]),
  ({ audit }, { partition, canary }, n) =>
    audit.keepCheck(partition, { at: n, body: canary, keyId: "k", hash: canary }),
  ({ manifests }, { partition, canary }, n) =>
    manifests.put(partition, manifestOf(n, { body: canary }), [{ hash: "h", text: canary }]),
  ({ keys }, { partition, canary }, n) =>
    keys.put(partition, TreeId.of(`t${n}`), { id: canary, wrapped: Uint8Array.of(n % 256) }),
  ({ spend }, { partition, canary }, n) =>
    spend.put(partition, tree, {
      userId: null,
      seq: n + 1,
      rolledSeq: 0,
      rows: [{ ...Spend.none, hour: 1, agentType: "writer", model: canary, calls: n }],
      calls: [],
    }),
];

const reads: readonly ((store: Store, tenant: Tenant, n: number) => Promise<unknown>)[] = [
  ({ runs }, { partition }) => runs.list(partition, {}, page),
  ({ runs }, { partition }, n) => runs.tree(partition, TreeId.of(`t${n}`)),
  ({ events }, { partition }) => events.read(partition, tree, { after: 0, limit: 1_000 }),
  ({ sessions }, { partition }, n) =>
    sessions.path(partition, key, { from: EntryId.of(`e${n}`), limit: 1_000 }),
  ({ sessions }, { partition }) => sessions.entries(partition, key, { after: null, limit: 1_000 }),
  ({ memory }, { partition }) => memory.recall(partition, annOwns, {}),
  ({ approvals }, { partition }) => approvals.list(partition, {}, page),
  ({ audit }, { partition }) => audit.read(partition, 0, 1_000),
  ({ audit }, { partition }) => audit.list(partition, { kind: "note" }, 1_000),
  ({ audit }, { partition }) => audit.head(partition),
  ({ audit }, { partition }) => audit.check(partition),
  ({ manifests }, { partition }) => manifests.list(partition, RunId.root(tree), page),
  ({ manifests }, { partition }) => manifests.texts(partition, tree, { hashes: ["h"], isPermanent: true }),
  ({ keys }, { partition }, n) => keys.get(partition, TreeId.of(`t${n}`)),
  ({ spend }, { partition }) => spend.tree(partition, tree),
  ({ spend }, { partition }) => spend.sum(partition, { from: 0, to: 9, by: ["model"], limit: 9 }),
];

const rounds = 36;

export const tenantCases: readonly StoreCase[] = [
  storeCase("1,000 interleaved operations of two tenants with the same ids never mix", async (desk) => {
    const { store } = desk;
    const tenants = [createTenant(), createTenant()].map((partition) => ({
      partition,
      canary: randomUUID(),
    }));
    for (const { partition } of tenants) await store.sessions.open(partition, sessionOf());
    let operations = 0;
    const live = async (tenant: Tenant, other: Tenant): Promise<void> => {
      for (let n = 0; n < rounds; n += 1) {
        for (const [index, write] of writes.entries()) {
          const answer = await write(store, tenant, n);
          const seen = await reads[(n + index) % reads.length]?.(store, tenant, n);
          operations += 2;
          assert.ok(!JSON.stringify([answer, seen]).includes(other.canary), `crossed at ${n}, ${index}`);
        }
      }
    };
    const [one, other] = tenants;
    assert.ok(one && other);
    await Promise.all([live(one, other), live(other, one)]);
    assert.ok(operations >= 1_000, `${operations} operations`);
    for (const tenant of tenants)
      for (const read of reads) {
        const found = JSON.stringify(await read(store, tenant, rounds - 1));
        assert.ok(found.includes(tenant.canary), `not its own: ${found.slice(0, 200)}`);
      }
  }),

  storeCase(
    "data stored without a tenant belongs to no tenant, and the reverse",
    async ({ store, tenant }) => {
      const alone = TreeId.of(`alone-${randomUUID()}`);
      const noTenant: Partition = { tenantId: null };
      await store.events.append(noTenant, alone, [eventOf(1, "ours", alone)]);
      assert.deepEqual(await store.events.read(tenant, alone, { after: 0, limit: 9 }), []);
      await store.events.append(tenant, alone, [eventOf(1, "theirs", alone)]);
      assert.deepEqual(await store.events.read(noTenant, alone, { after: 0, limit: 9 }), [
        eventOf(1, "ours", alone),
      ]);
    },
  ),
];
