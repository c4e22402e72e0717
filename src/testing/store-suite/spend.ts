import assert from "node:assert/strict";
import { ann, bob, createTenant, type StoreCase, storeCase, tree } from "./harness.ts";
import { all, callOf, fill, row, settledByGroup, spendOf, t1, t2, t3 } from "./spend-fixtures.ts";

export const spendCases: readonly StoreCase[] = [
  storeCase("the money of a tree that is put several times is stored once, unchanged", async (desk) => {
    const { store, tenant } = desk;
    assert.equal(await store.spend.tree(tenant, tree), null);
    const calls = [callOf(tree, { state: "open", stepId: null, model: "" })];
    const whole = spendOf({ calls, rows: [row({ settledMicros: Number.MAX_SAFE_INTEGER - 1, calls: 3 })] });
    await store.spend.put(tenant, tree, whole);
    await store.spend.put(tenant, tree, whole);
    assert.deepEqual(await store.spend.tree(tenant, tree), whole);
    assert.deepEqual(await settledByGroup(desk), [[Number.MAX_SAFE_INTEGER - 1]]);
  }),

  storeCase("figures of more events replace figures of fewer, never the reverse", async (desk) => {
    const { store, tenant } = desk;
    const early = spendOf({ seq: 2, calls: [callOf(tree)] });
    const late = spendOf({
      seq: 7,
      rows: [row({ settledMicros: 9 }), row({ hour: 50, settledMicros: 1 })],
    });
    for (const each of [early, late, early, late]) await store.spend.put(tenant, tree, each);
    assert.deepEqual(await store.spend.tree(tenant, tree), late);
    assert.deepEqual(await settledByGroup(desk), [[10]]);
    assert.deepEqual((await store.spend.inDoubt(tenant, {}, { size: 9 })).items, []);
  }),

  storeCase("calls in doubt are listed newest first, of all trees or of a user's", async (desk) => {
    const { store, tenant } = desk;
    const doubts = [
      [t1, callOf(t1, { at: 1 }), ann],
      [t2, callOf(t2, { at: 3 }), bob],
      [t3, callOf(t3, { at: 2 }), ann],
    ] as const;
    for (const [of, call, userId] of doubts)
      await store.spend.put(tenant, of, spendOf({ calls: [call], userId }));
    const open = callOf(tree, { state: "open" });
    await store.spend.put(tenant, tree, spendOf({ calls: [open] }));
    const first = await store.spend.inDoubt(tenant, {}, { size: 2 });
    assert.deepEqual(
      first.items.map(({ treeId }) => treeId),
      ["t2", "t3"],
    );
    assert.ok(first.next !== null);
    const second = await store.spend.inDoubt(tenant, {}, { size: 2, after: first.next });
    const { state: _, ...call } = callOf(t1, { at: 1 });
    assert.deepEqual(second, { items: [{ ...call, treeId: t1, userId: ann }], next: null });
    const anns = await store.spend.inDoubt(tenant, { userId: ann }, { size: 9 });
    assert.deepEqual(
      anns.items.map(({ treeId }) => treeId),
      ["t3", "t1"],
    );
    assert.deepEqual((await store.spend.inDoubt(createTenant(), {}, { size: 9 })).items, []);
  }),

  storeCase("old trees are added up by day once, and the sums stay the same", async (desk) => {
    const { store, tenant, harness } = desk;
    await fill(desk);
    const unsettled = [callOf(t3)];
    await store.spend.put(tenant, t3, spendOf({ rows: [row({ inDoubtMicros: 70 })], calls: unsettled }));
    const by = { by: ["day", "agent", "model", "user"] } as const;
    const before = await store.spend.sum(tenant, { ...all, ...by });
    const second = await harness.open();
    try {
      // Two processes at once: each tree is added up by one of them.
      const counts = await Promise.all([store.spend.compact(tenant, 72), second.spend.compact(tenant, 72)]);
      assert.equal(counts[0] + counts[1], 1);
    } finally {
      await second[Symbol.asyncDispose]();
    }
    assert.deepEqual(await store.spend.sum(tenant, { ...all, ...by }), before);
    const trees = await settledByGroup(desk, { by: ["tree"] });
    assert.deepEqual(trees, [
      [null, 411],
      ["t1", 107],
      ["t3", 0],
    ]);
    assert.equal(await store.spend.compact(tenant, 100), 1);
    assert.equal(await store.spend.compact(tenant, 100), 0);
    assert.deepEqual(await store.spend.sum(tenant, { ...all, ...by }), before);
  }),

  storeCase(
    "a tree added to a day's sum counts later changes only, and an earlier state changes nothing",
    async (desk) => {
      const { store, tenant } = desk;
      const early = spendOf({ seq: 5 });
      await store.spend.put(tenant, tree, early);
      await store.spend.compact(tenant, 100);
      const rolled = await store.spend.tree(tenant, tree);
      assert.deepEqual(rolled, { ...early, rolledSeq: 5, rows: [] });
      await store.spend.put(tenant, tree, { ...early, seq: 6 });
      assert.deepEqual(await settledByGroup(desk), [[5]]);
      await store.spend.put(tenant, tree, {
        ...early,
        seq: 7,
        rolledSeq: 5,
        rows: [row({ settledMicros: 2 })],
      });
      assert.deepEqual(await settledByGroup(desk), [[7]]);
      await store.spend.compact(tenant, 100);
      assert.deepEqual(await settledByGroup(desk, { by: ["tree"] }), [[null, 7]]);
    },
  ),

  storeCase("erasing a user keeps the tenant's spend, under no user and no tree", async (desk) => {
    const { store, tenant } = desk;
    await fill(desk);
    await store.spend.put(tenant, t3, spendOf({ seq: 3, calls: [callOf(t3)] }));
    await store.spend.compact(tenant, 72);
    await store.eraseUser(tenant, bob);
    await store.eraseUser(tenant, ann);
    await store.eraseUser(tenant, ann);
    assert.deepEqual(await settledByGroup(desk, { by: ["user", "tree"] }), [[null, null, 523]]);
    assert.deepEqual(await settledByGroup(desk, { by: ["day"] }), [
      [2, 516],
      [3, 7],
    ]);
    assert.deepEqual((await store.spend.inDoubt(tenant, {}, { size: 9 })).items, []);
    // Its last batch, repeated after the erasure.
    await store.spend.put(tenant, t3, spendOf({ seq: 3 }));
    assert.deepEqual(await settledByGroup(desk), [[523]]);
  }),
];
