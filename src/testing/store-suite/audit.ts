import assert from "node:assert/strict";
import { AuditChainError, type AuditEntry, type AuditFilter, type Partition, type Store } from "#kernel";
import { createTenant, type StoreCase, storeCase } from "./harness.ts";

const link = (index: number, previous: string, fields: Partial<AuditEntry> = {}): AuditEntry => ({
  index,
  at: 1_000 + index,
  kind: "spend",
  data: { cost: index },
  source: `books/${index}`,
  keyId: "key",
  previous,
  hash: `hash-${index}`,
  ...fields,
});

/** Links from one index to another. */
const chainOf = (from: number, to: number): readonly AuditEntry[] =>
  Array.from({ length: to - from + 1 }, (_, place) =>
    link(from + place, from + place === 0 ? "" : `hash-${from + place - 1}`),
  );

const chain = chainOf(0, 2);

const isRefusal = (error: unknown): boolean => error instanceof AuditChainError;

/** Appends its own links to the chain, two at a time, until 30 of them are stored. */
async function lengthen(store: Store, tenant: Partition, name: string): Promise<void> {
  for (let added = 0; added < 30;) {
    const head = await store.audit.head(tenant);
    const first = link((head?.index ?? -1) + 1, head?.hash ?? "", {
      source: `${name}/${added}`,
      hash: `${name}-${added}`,
    });
    const second = link(first.index + 1, first.hash, {
      source: `${name}/${added + 1}`,
      hash: `${name}-${added + 1}`,
    });
    const refused = await store.audit.append(tenant, [first, second]).catch((error: unknown) => error);
    if (refused === undefined) added += 2;
    else assert.ok(isRefusal(refused));
  }
}

export const auditCases: readonly StoreCase[] = [
  storeCase("links are kept in order, and the head is the last", async ({ store, tenant }) => {
    assert.equal(await store.audit.head(tenant), null);
    await store.audit.append(tenant, chain);
    assert.deepEqual(await store.audit.read(tenant, 0, 10), chain);
    assert.deepEqual(await store.audit.read(tenant, 1, 1), chain.slice(1, 2));
    assert.deepEqual(await store.audit.head(tenant), { index: 2, hash: "hash-2" });
    assert.equal(await store.audit.head(createTenant()), null);
  }),

  storeCase("links are listed newest first, by kind, by source and by page", async ({ store, tenant }) => {
    const links = [
      link(0, "", { kind: "spend", source: "books/1" }),
      link(1, "hash-0", { kind: "approval", source: "books/2" }),
      link(2, "hash-1", { kind: "spend", source: "books-2/1" }),
      link(3, "hash-2", { kind: "spend", source: "books/3" }),
      link(4, "hash-3", { kind: "spend", source: "book/9" }),
    ];
    await store.audit.append(tenant, links);
    const listed = async (filter: AuditFilter, limit = 9): Promise<readonly number[]> =>
      (await store.audit.list(tenant, filter, limit)).map(({ index }) => index);
    assert.deepEqual(await store.audit.list(tenant, {}, 9), links.toReversed());
    assert.deepEqual(await listed({}, 2), [4, 3]);
    assert.deepEqual(await listed({ before: 3 }, 2), [2, 1]);
    assert.deepEqual(await listed({ kind: "spend", before: 4 }), [3, 2, 0]);
    assert.deepEqual(await listed({ sourcePrefix: "books/" }), [3, 1, 0]);
    assert.deepEqual(await listed({ sourcePrefix: "books/", before: 3 }, 1), [1]);
    assert.deepEqual(await listed({ sourcePrefix: "books/", kind: "spend" }), [3, 0]);
    assert.deepEqual(await listed({ sourcePrefix: "none/" }), []);
    assert.deepEqual(await store.audit.list(createTenant(), {}, 9), []);
  }),

  storeCase("the last check of a chain is kept, and an older one changes nothing", async (desk) => {
    const { store, tenant } = desk;
    assert.equal(await store.audit.check(tenant), null);
    const check = { at: 5, body: { ok: true, length: 3 }, keyId: "k", hash: "h" };
    await store.audit.keepCheck(tenant, check);
    await store.audit.keepCheck(tenant, { ...check, at: 4, hash: "older" });
    assert.deepEqual(await store.audit.check(tenant), check);
    const later = { at: 6, body: { ok: false, at: 1, fault: "changed" }, keyId: "k", hash: "later" };
    await store.audit.keepCheck(tenant, later);
    assert.deepEqual(await store.audit.check(tenant), later);
    assert.equal(await store.audit.check(createTenant()), null);
  }),

  storeCase("links that do not follow the head are refused, and nothing changes", async (desk) => {
    const { store, tenant } = desk;
    await assert.rejects(store.audit.append(tenant, [link(1, "")]), isRefusal);
    await assert.rejects(store.audit.append(tenant, [link(0, "hash-9")]), isRefusal);
    await store.audit.append(tenant, chain);
    for (const wrong of [
      [link(3, "hash-1")],
      [link(4, "hash-2")],
      [link(2, "hash-1", { hash: "other" })],
      [link(0, "", { hash: "other" })],
      [link(3, "")],
      [link(-1, "")],
      // The first would do, but all are added or none.
      [link(3, "hash-2"), link(4, "hash-9")],
      [link(3, "hash-2"), link(5, "hash-3")],
      [link(3, "hash-2"), link(3, "hash-2", { hash: "other" })],
      [link(2, "hash-1", { hash: "other" }), link(3, "hash-2")],
    ])
      await assert.rejects(store.audit.append(tenant, wrong), isRefusal);
    assert.deepEqual(await store.audit.read(tenant, 0, 10), chain);
  }),

  storeCase("repeated links change nothing, alone or together with new ones", async (desk) => {
    const { store, tenant } = desk;
    await store.audit.append(tenant, chain);
    await store.audit.append(tenant, chain);
    await store.audit.append(tenant, chain.slice(1, 2));
    await store.audit.append(tenant, chainOf(1, 4));
    await store.audit.append(tenant, []);
    assert.deepEqual(await store.audit.read(tenant, 0, 10), chainOf(0, 4));
  }),

  storeCase("no two links record the same decision", async ({ store, tenant }) => {
    await store.audit.append(tenant, chain);
    assert.deepEqual(
      await store.audit.findRecorded(tenant, ["books/2", "books/3", "books/0"]).then(sortTexts),
      ["books/0", "books/2"],
    );
    assert.deepEqual(await store.audit.findRecorded(tenant, []), []);
    assert.deepEqual(await store.audit.findRecorded(createTenant(), ["books/0"]), []);
    const again = link(3, "hash-2", { source: "books/1" });
    await assert.rejects(store.audit.append(tenant, [again]), isRefusal);
    await assert.rejects(store.audit.append(tenant, [link(3, "hash-2"), { ...again, index: 4 }]), isRefusal);
    const twice = [link(3, "hash-2"), link(4, "hash-3", { source: "books/3" })];
    await assert.rejects(store.audit.append(tenant, twice), isRefusal);
    assert.deepEqual(await store.audit.read(tenant, 0, 10), chain);
    await store.audit.append(createTenant(), chain);
  }),

  storeCase("more links than a statement takes are added at once", async ({ store, tenant }) => {
    await store.audit.append(tenant, chainOf(0, 1_199));
    assert.deepEqual(await store.audit.read(tenant, 0, 2_000), chainOf(0, 1_199));
    await store.audit.append(tenant, chainOf(0, 1_199));
    const wrong = [...chainOf(1_200, 2_398), link(2_399, "hash-2398", { source: "books/7" })];
    await assert.rejects(store.audit.append(tenant, wrong), isRefusal);
    assert.equal((await store.audit.head(tenant))?.index, 1_199);
  }),

  storeCase("one of two concurrent links for one position is refused", async ({ store, tenant }) => {
    await store.audit.append(tenant, chain);
    const rivals = ["one", "other"].map((name) => link(3, "hash-2", { hash: name, source: name }));
    const outcomes = await Promise.allSettled(rivals.map((entry) => store.audit.append(tenant, [entry])));
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.deepEqual(
      refused.map(({ reason }) => isRefusal(reason)),
      [true],
    );
    assert.equal((await store.audit.read(tenant, 0, 10)).length, 4);
  }),

  storeCase("two stores that lengthen one chain at once make one chain", async (desk) => {
    const { store, tenant, harness } = desk;
    const other = await harness.open();
    try {
      await Promise.all([lengthen(store, tenant, "one"), lengthen(other, tenant, "other")]);
      const links = await store.audit.read(tenant, 0, 99);
      assert.equal(links.length, 60);
      assert.equal(new Set(links.map(({ source }) => source)).size, 60);
      for (const [index, { previous }] of links.entries())
        assert.equal(previous, links[index - 1]?.hash ?? "");
    } finally {
      await other[Symbol.asyncDispose]();
    }
  }),
];

const sortTexts = (texts: readonly string[]): readonly string[] => texts.toSorted();
