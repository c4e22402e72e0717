import assert from "node:assert/strict";
import {
  AttemptId,
  RunId,
  Spend,
  StepId,
  TreeId,
  type SpendCall,
  type SpendFigures,
  type SpendQuery,
  type SpendRow,
  type SpendSum,
  type TreeSpend,
} from "#kernel";
import { ann, bob, type Desk, someTenant, type StoreCase, storeCase, tree } from "./harness.ts";

const row = (fields: Partial<SpendRow> = {}): SpendRow => ({
  ...Spend.none,
  hour: 48,
  agentType: "lead",
  model: "m1",
  ...fields,
});

const spendOf = (fields: Partial<TreeSpend> = {}): TreeSpend => ({
  userId: ann,
  seq: 1,
  rolledSeq: 0,
  rows: [row({ settledMicros: 5 })],
  calls: [],
  ...fields,
});

const callOf = (of: TreeId, fields: Partial<SpendCall> = {}): SpendCall => ({
  attempt: AttemptId.of(`a-${of}`),
  runId: RunId.root(of),
  stepId: StepId.of(RunId.root(of), "model", 1),
  agentType: "lead",
  model: "m1",
  at: 1_000,
  tokens: 10,
  costMicros: 70,
  state: "in-doubt",
  ...fields,
});

const all: SpendQuery = { from: 0, to: 1_000, by: [], limit: 100 };

const settled = async ({ store, tenant }: Desk, query: Partial<SpendQuery> = {}): Promise<unknown> => {
  const { by = [] } = query;
  const sums = await store.spend.sum(tenant, { ...all, ...query });
  return sums.map((sum) => {
    const values: unknown[] = by.map((name) => sum[name]);
    return values.concat(sum.settledMicros);
  });
};

const [t1, t2, t3] = [TreeId.of("t1"), TreeId.of("t2"), TreeId.of("t3")];

/** Two trees of two users, on two days. */
async function fill({ store, tenant }: Desk): Promise<void> {
  const rows = [
    row({ calls: 2, inputTokens: 30, outputTokens: 4, cachedTokens: 20, settledMicros: 100 }),
    row({ model: "", runs: 3, stopped: 1, denied: 2 }),
    row({ hour: 73, agentType: "writer", model: "m2", calls: 1, settledMicros: 7, inDoubtMicros: 1 }),
  ];
  await store.spend.put(tenant, t1, spendOf({ rows }));
  const other = [row({ hour: 49, settledMicros: 11 }), row({ hour: 71, model: "m2", settledMicros: 400 })];
  await store.spend.put(tenant, t2, spendOf({ userId: bob, rows: other }));
}

/** The groups of a query, each made of the groups by tree, in no order. */
async function fromTrees({ store, tenant }: Desk, query: SpendQuery): Promise<ReadonlySet<string>> {
  const parts = await store.spend.sum(tenant, { ...query, by: [...query.by, "tree"] });
  const groups = Map.groupBy(parts, (part) => JSON.stringify(query.by.map((name) => part[name])));
  const added = [...groups].map(([key, sums]) => `${key} ${figuresText(sums.reduce(Spend.add, Spend.none))}`);
  return new Set(added);
}

const figuresText = (sum: SpendFigures): string => JSON.stringify(Spend.figureNames.map((name) => sum[name]));

/** Asserts that sums over all trees are what the trees add up to. */
async function assertSums(desk: Desk, ranges: readonly (readonly [number, number])[]): Promise<void> {
  const { store, tenant } = desk;
  const kinds = [
    [],
    ["day"],
    ["agent"],
    ["day", "model"],
    ["agent", "model"],
    ["user"],
    ["day", "user"],
  ] as const;
  const filters = [{}, { agentType: "lead" }, { model: "m2" }];
  for (const [from, to] of ranges)
    for (const by of kinds)
      for (const filter of filters) {
        const query = { ...all, ...filter, from, to, by };
        const sums = await store.spend.sum(tenant, query);
        const found = sums.map((sum) => {
          const group: SpendSum = sum;
          return `${JSON.stringify(by.map((name) => group[name]))} ${figuresText(sum)}`;
        });
        assert.deepEqual(new Set(found), await fromTrees(desk, query), JSON.stringify(query));
      }
}

export const spendCases: readonly StoreCase[] = [
  storeCase(
    "sums over all trees follow every change of a tree, and no erasure changes them",
    async (desk) => {
      const { store, tenant } = desk;
      const wholeDays = [
        [0, 240],
        [48, 72],
        [72, 96],
      ] as const;
      const hours = [
        [48, 49],
        [49, 73],
        [50, 73],
        [47, 121],
        [71, 74],
      ] as const;
      await fill(desk);
      await assertSums(desk, [...wholeDays, ...hours]);
      const rows = [row({ settledMicros: 3, inDoubtMicros: 70 }), row({ hour: 120, model: "m3", runs: 1 })];
      await store.spend.put(tenant, t3, spendOf({ rows }));
      const later = [row({ settledMicros: 9 }), row({ hour: 120, model: "m3", runs: 2 })];
      for (const seq of [2, 2, 1]) await store.spend.put(tenant, t3, spendOf({ seq, rows: later }));
      await assertSums(desk, [...wholeDays, ...hours]);
      const byHour = { ...all, by: ["hour", "agent"] } as const;
      const before = await store.spend.sum(tenant, byHour);
      await store.spend.compact(tenant, 100);
      await assertSums(desk, wholeDays);
      await store.eraseUser(tenant, bob);
      await assertSums(desk, wholeDays);
      await store.eraseUser(tenant, ann);
      await assertSums(desk, wholeDays);
      assert.deepEqual(await store.spend.sum(tenant, byHour), before);
    },
  ),

  storeCase("the money of a tree comes back as it was put, once, however often", async (desk) => {
    const { store, tenant } = desk;
    assert.equal(await store.spend.tree(tenant, tree), null);
    const calls = [callOf(tree, { state: "open", stepId: null, model: "" })];
    const whole = spendOf({ calls, rows: [row({ settledMicros: Number.MAX_SAFE_INTEGER - 1, calls: 3 })] });
    await store.spend.put(tenant, tree, whole);
    await store.spend.put(tenant, tree, whole);
    assert.deepEqual(await store.spend.tree(tenant, tree), whole);
    assert.deepEqual(await settled(desk), [[Number.MAX_SAFE_INTEGER - 1]]);
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
    assert.deepEqual(await settled(desk), [[10]]);
    assert.deepEqual((await store.spend.inDoubt(tenant, {}, { size: 9 })).items, []);
  }),

  storeCase("trees that change the same sums at once, in two processes, lose nothing", async (desk) => {
    const { store, tenant, harness } = desk;
    const second = await harness.open();
    try {
      const puts = Array.from({ length: 24 }, (_, n) => {
        const rows = [row({ model: "a", calls: 1 }), row({ model: "b", calls: 1 })];
        const ordered = n % 2 === 0 ? rows : rows.toReversed();
        return (n % 3 === 0 ? second : store).spend.put(
          tenant,
          TreeId.of(`t${n}`),
          spendOf({ rows: ordered }),
        );
      });
      await Promise.all(puts);
      const sums = await second.spend.sum(tenant, { ...all, by: ["model"] });
      assert.deepEqual(
        sums.map(({ model, calls }) => [model, calls]),
        [
          ["a", 24],
          ["b", 24],
        ],
      );
    } finally {
      await second[Symbol.asyncDispose]();
    }
  }),

  storeCase("money is summed by day, hour, agent, model, user and tree, the most first", async (desk) => {
    await fill(desk);
    assert.deepEqual(await settled(desk), [[518]]);
    assert.deepEqual(await settled(desk, { by: ["day"] }), [
      [2, 511],
      [3, 7],
    ]);
    assert.deepEqual(await settled(desk, { by: ["hour"] }), [
      [71, 400],
      [48, 100],
      [49, 11],
      [73, 7],
    ]);
    assert.deepEqual(await settled(desk, { by: ["agent", "model"] }), [
      ["lead", "m2", 400],
      ["lead", "m1", 111],
      ["writer", "m2", 7],
      ["lead", "", 0],
    ]);
    assert.deepEqual(await settled(desk, { by: ["user"] }), [
      ["bob", 411],
      ["ann", 107],
    ]);
    assert.deepEqual(await settled(desk, { by: ["tree"], limit: 1 }), [["t2", 411]]);
    const [sum] = await desk.store.spend.sum(desk.tenant, { ...all, userId: ann });
    assert.deepEqual(sum, {
      calls: 3,
      inputTokens: 30,
      outputTokens: 4,
      cachedTokens: 20,
      settledMicros: 107,
      inDoubtMicros: 1,
      runs: 3,
      stopped: 1,
      denied: 2,
    });
  }),

  storeCase("filters of money leave out trees that do not match", async (desk) => {
    await fill(desk);
    assert.deepEqual(await settled(desk, { from: 49, to: 73 }), [[411]]);
    assert.deepEqual(await settled(desk, { agentType: "writer" }), [[7]]);
    assert.deepEqual(await settled(desk, { model: "m1" }), [[111]]);
    assert.deepEqual(await settled(desk, { from: 500 }), []);
    assert.deepEqual(await settled(desk, { userId: null }), []);
    assert.deepEqual(await desk.store.spend.sum(someTenant(), all), []);
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
    assert.deepEqual((await store.spend.inDoubt(someTenant(), {}, { size: 9 })).items, []);
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
    const trees = await settled(desk, { by: ["tree"] });
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
    "a tree that was added up counts from there on, and an earlier state changes nothing",
    async (desk) => {
      const { store, tenant } = desk;
      const early = spendOf({ seq: 5 });
      await store.spend.put(tenant, tree, early);
      await store.spend.compact(tenant, 100);
      const rolled = await store.spend.tree(tenant, tree);
      assert.deepEqual(rolled, { ...early, rolledSeq: 5, rows: [] });
      await store.spend.put(tenant, tree, { ...early, seq: 6 });
      assert.deepEqual(await settled(desk), [[5]]);
      await store.spend.put(tenant, tree, {
        ...early,
        seq: 7,
        rolledSeq: 5,
        rows: [row({ settledMicros: 2 })],
      });
      assert.deepEqual(await settled(desk), [[7]]);
      await store.spend.compact(tenant, 100);
      assert.deepEqual(await settled(desk, { by: ["tree"] }), [[null, 7]]);
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
    assert.deepEqual(await settled(desk, { by: ["user", "tree"] }), [[null, null, 523]]);
    assert.deepEqual(await settled(desk, { by: ["day"] }), [
      [2, 516],
      [3, 7],
    ]);
    assert.deepEqual((await store.spend.inDoubt(tenant, {}, { size: 9 })).items, []);
    // Its last batch, repeated after the erasure.
    await store.spend.put(tenant, t3, spendOf({ seq: 3 }));
    assert.deepEqual(await settled(desk), [[523]]);
  }),
];
