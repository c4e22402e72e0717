import assert from "node:assert/strict";
import { AuditChainError, type AuditEntry, type Partition, type Store } from "#kernel";
import { someTenant, type StoreCase, storeCase } from "./harness.ts";

const link = (index: number, previous: string, hash = `hash-${index}`): AuditEntry => ({
  index,
  at: 1_000 + index,
  kind: "budget.topped-up",
  data: { cost: index },
  previous,
  hash,
});

const chain = [link(0, ""), link(1, "hash-0"), link(2, "hash-1")];

async function keep(store: Store, tenant: Partition): Promise<void> {
  for (const entry of chain) await store.audit.append(tenant, entry);
}

const isRefusal = (error: unknown): boolean => error instanceof AuditChainError;

export const auditCases: readonly StoreCase[] = [
  storeCase("links are kept in order, and the head is the last", async ({ store, tenant }) => {
    assert.equal(await store.audit.head(tenant), null);
    await keep(store, tenant);
    assert.deepEqual(await store.audit.read(tenant, 0, 10), chain);
    assert.deepEqual(await store.audit.read(tenant, 1, 1), chain.slice(1, 2));
    assert.deepEqual(await store.audit.head(tenant), chain[2]);
    assert.equal(await store.audit.head(someTenant()), null);
  }),

  storeCase(
    "a link that does not follow the head is refused, and nothing changes",
    async ({ store, tenant }) => {
      await assert.rejects(store.audit.append(tenant, link(1, "")), isRefusal);
      await assert.rejects(store.audit.append(tenant, link(0, "hash-9")), isRefusal);
      await keep(store, tenant);
      for (const wrong of [
        link(3, "hash-1"),
        link(4, "hash-2"),
        link(2, "hash-1", "other"),
        link(0, "", "other"),
        link(3, ""),
        link(-1, ""),
      ])
        await assert.rejects(store.audit.append(tenant, wrong), isRefusal);
      assert.deepEqual(await store.audit.read(tenant, 0, 10), chain);
    },
  ),

  storeCase("a link given again changes nothing", async ({ store, tenant }) => {
    await keep(store, tenant);
    await keep(store, tenant);
    assert.deepEqual(await store.audit.read(tenant, 0, 10), chain);
  }),

  storeCase("of two links at once for one place, one is refused", async ({ store, tenant }) => {
    await keep(store, tenant);
    const rivals = [link(3, "hash-2", "one"), link(3, "hash-2", "other")];
    const outcomes = await Promise.allSettled(rivals.map((entry) => store.audit.append(tenant, entry)));
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.deepEqual(
      refused.map(({ reason }) => isRefusal(reason)),
      [true],
    );
    assert.equal((await store.audit.read(tenant, 0, 10)).length, 4);
  }),

  storeCase(
    "two stores that lengthen one chain at once make one chain",
    async ({ store, tenant, harness }) => {
      const other = await harness.open();
      const lengthen = async (own: Store, name: string): Promise<void> => {
        for (let added = 0; added < 15;) {
          const head = await own.audit.head(tenant);
          const next = link((head?.index ?? -1) + 1, head?.hash ?? "", `${name}-${added}`);
          const refused = await own.audit.append(tenant, next).catch((error: unknown) => error);
          if (refused === undefined) added += 1;
          else assert.ok(isRefusal(refused));
        }
      };
      try {
        await Promise.all([lengthen(store, "one"), lengthen(other, "other")]);
        const links = await store.audit.read(tenant, 0, 99);
        assert.equal(links.length, 30);
        for (const [index, { previous }] of links.entries())
          assert.equal(previous, links[index - 1]?.hash ?? "");
      } finally {
        await other[Symbol.asyncDispose]();
      }
    },
  ),
];
