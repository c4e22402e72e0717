import assert from "node:assert/strict";
import { KeyDestroyedError, type Partition, RunId, StepId, type Store, TreeId } from "#kernel";
import {
  ann,
  createTenant,
  entryOf,
  eventOf,
  key,
  manifestOf,
  questionOf,
  root,
  runOf,
  sessionOf,
  type StoreCase,
  storeCase,
  tree,
} from "./harness.ts";

const other = TreeId.of("other");
const text = { hash: "h", text: "what was said" };
const roomy = { max: 100, maxBytes: 1_000_000 };
const wrapped = { id: "k1", wrapped: Uint8Array.of(1, 2, 3) };

/** Writes content of a tree wherever a store keeps it. A store that seals may refuse it: it has no key for it. */
async function writeContent(store: Store, tenant: Partition, of: TreeId): Promise<void> {
  const runId = RunId.root(of);
  const step = manifestOf(1, { runId });
  const answer = { treeId: of, userId: ann, isPermanent: true, at: 1, until: 1_000, value: "said" };
  const delivery = { webhookId: "hook", treeId: of, seq: 1, event: "run.end", at: 1 } as const;
  const talk = { ...key, id: sessionOf().id };
  for (const write of [
    () => store.runs.put(tenant, runOf({ runId })),
    () => store.events.append(tenant, of, [eventOf(1, "said", of)]),
    () => store.approvals.request(tenant, questionOf(1, { runId })),
    () => store.manifests.put(tenant, step, [text]),
    () => store.manifests.putTexts(tenant, of, { texts: [{ ...text, hash: "late" }], isPermanent: true }),
    () => store.cache.put(tenant, { ...answer, key: `answer of ${of}` }, roomy),
    () => store.webhooks.enqueue(tenant, [delivery]),
    () => store.sessions.open(tenant, sessionOf(), runId),
    () => store.sessions.append(tenant, talk, [entryOf(`of-${of}`, null, { branch: runId })]),
  ])
    await write().catch((error: unknown) => {
      if (!(error instanceof KeyDestroyedError)) throw error;
    });
}

/** Names the places that have content of a tree. */
async function placesOf(store: Store, tenant: Partition, of: TreeId): Promise<readonly string[]> {
  const runId = RunId.root(of);
  const hashes = ["h", "late"];
  const found = {
    runs: (await store.runs.tree(tenant, of)).length > 0,
    events: (await store.events.read(tenant, of, { after: 0, limit: 9 })).length > 0,
    approvals: (await store.approvals.list(tenant, { treeId: of }, { size: 9 })).items.length > 0,
    manifests: (await store.manifests.get(tenant, StepId.of(runId, "model", 1))).some(({ body }) => body),
    texts: (await store.manifests.texts(tenant, of, { hashes, isPermanent: true })).length > 0,
    cache: (await store.cache.get(tenant, `answer of ${of}`, 2)) !== undefined,
    turns:
      (await store.sessions.head(tenant, key)) && (await store.sessions.leaf(tenant, key, runId)) !== null,
  };
  return Object.entries(found).flatMap(([place, isThere]) => (isThere ? [place] : []));
}

const everywhere = ["runs", "events", "approvals", "manifests", "texts", "cache", "turns"];

export const erasedTreeCases: readonly StoreCase[] = [
  storeCase("erasing a tree erases what outlives its key", async ({ store, tenant }) => {
    const elsewhere = createTenant();
    await store.keys.put(tenant, tree, wrapped);
    for (const each of [tree, other]) await writeContent(store, tenant, each);
    await writeContent(store, elsewhere, tree);
    assert.equal(await store.isErased(tenant, tree), false);
    for (const _ of [1, 2]) await store.eraseTree(tenant, tree);
    assert.deepEqual(await placesOf(store, tenant, tree), ["runs", "events", "approvals", "turns"]);
    assert.deepEqual((await store.manifests.get(tenant, StepId.of(root, "model", 1))).length, 1);
    const deliveries = await store.webhooks.deliveries(tenant, { webhookId: "hook" }, { size: 9 });
    assert.deepEqual(
      deliveries.items.map(({ treeId }) => treeId),
      [other],
    );
    await assert.rejects(store.keys.get(tenant, tree), { code: "key-destroyed" });
    assert.equal(await store.isErased(tenant, tree), true);
    assert.deepEqual(await placesOf(store, tenant, other), everywhere);
    assert.deepEqual(await placesOf(store, elsewhere, tree), everywhere);
    assert.equal(await store.isErased(elsewhere, tree), false);
  }),

  storeCase("a tree whose key ended with its retention can still be written", async ({ store, tenant }) => {
    await store.keys.destroy(tenant, tree);
    assert.equal(await store.isErased(tenant, tree), false);
    await store.manifests.put(tenant, manifestOf(1), [text]);
    assert.deepEqual(await placesOf(store, tenant, tree), ["manifests", "texts"]);
  }),

  storeCase("single texts, and all cached answers of a tree, can be erased", async ({ store, tenant }) => {
    const { manifests, cache } = store;
    for (const [number, isPermanent] of [
      [1, true],
      [2, false],
    ] as const) {
      await manifests.put(tenant, manifestOf(number, { isPermanent }), [
        text,
        { hash: "kept", text: "other" },
      ]);
      const answer = { treeId: tree, userId: ann, isPermanent, at: 1, until: 1_000, value: "said" };
      await cache.put(tenant, { ...answer, key: `answer ${number}` }, roomy);
    }
    await manifests.eraseTexts(tenant, tree, ["h"]);
    await manifests.eraseTexts(tenant, tree, []);
    for (const isPermanent of [true, false]) {
      const left = await manifests.texts(tenant, tree, { hashes: ["h", "kept"], isPermanent });
      assert.deepEqual(left, [{ hash: "kept", text: "other" }]);
    }
    await cache.erase(tenant, tree);
    assert.notEqual(await cache.get(tenant, "answer 1", 2), undefined);
    assert.equal(await cache.get(tenant, "answer 2", 2), undefined);
    await cache.erase(tenant, tree, { lasting: true });
    assert.equal(await cache.get(tenant, "answer 1", 2), undefined);
  }),

  storeCase("late writes of an erased tree's content are ignored", async ({ store, tenant }) => {
    await store.eraseTree(tenant, tree);
    await writeContent(store, tenant, tree);
    assert.deepEqual(await placesOf(store, tenant, tree), ["runs", "events", "approvals"]);
    assert.equal(await store.sessions.head(tenant, key), null);
    await store.sessions.open(tenant, sessionOf());
    const late = [entryOf("late", null, { branch: root })];
    assert.equal(await store.sessions.append(tenant, key, late), false);
    const onMain = [entryOf("late", null)];
    assert.equal(await store.sessions.append(tenant, key, onMain, { turn: root }), false);
    assert.deepEqual(await store.sessions.entries(tenant, key, { after: null, limit: 9 }), []);
  }),

  storeCase(
    "late writes of an erased user's trees are ignored, also of their records",
    async ({ store, tenant }) => {
      await writeContent(store, tenant, tree);
      await store.eraseUser(tenant, ann);
      assert.equal(await store.isErased(tenant, tree), true);
      await writeContent(store, tenant, tree);
      assert.deepEqual(await placesOf(store, tenant, tree), []);
      assert.equal(await store.sessions.head(tenant, key), null);
    },
  ),

  storeCase("nothing is written into a tree while it is erased", async ({ store, tenant, harness }) => {
    const second = await harness.open();
    try {
      for (let round = 0; round < 20; round += 1) {
        const each = TreeId.of(`tree-${round}`);
        await store.sessions.open(tenant, sessionOf());
        const erasing = store.eraseTree(tenant, each);
        await Promise.all([erasing, writeContent(second, tenant, each)]);
        const left = await placesOf(store, tenant, each);
        assert.deepEqual(
          left.filter((place) => ["manifests", "texts", "cache"].includes(place)),
          [],
        );
      }
    } finally {
      await second[Symbol.asyncDispose]();
    }
  }),
];
