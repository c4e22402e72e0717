import assert from "node:assert/strict";
import { Spend, TreeId, type SpendFigures, type SpendQuery, type SpendSum } from "#kernel";
import { ann, bob, type Desk, createTenant, type StoreCase, storeCase } from "./harness.ts";
import { all, fill, row, settledByGroup, spendOf, t3 } from "./spend-fixtures.ts";

/** The groups of a query, each made of the groups by tree, in no order. */
async function sumTrees({ store, tenant }: Desk, query: SpendQuery): Promise<ReadonlySet<string>> {
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
        assert.deepEqual(new Set(found), await sumTrees(desk, query), JSON.stringify(query));
        for (const topUsers of [1, 2]) await assertTopUsers(desk, { ...query, topUsers });
      }
}

/** Asserts that the most expensive users keep their groups, and that all others add up to groups without a user. */
async function assertTopUsers(
  { store, tenant }: Desk,
  { topUsers, ...query }: SpendQuery & { readonly topUsers: number },
): Promise<void> {
  if (!query.by.includes("user")) return;
  const users = await store.spend.sum(tenant, { ...query, by: ["user"], limit: topUsers });
  const top = new Set(users.map(({ user }) => user));
  const expected = new Map<string, SpendFigures>();
  for (const { user, ...sum } of await store.spend.sum(tenant, query)) {
    const key = JSON.stringify([sum.day, top.has(user) ? user : "others"]);
    expected.set(key, Spend.add(expected.get(key) ?? Spend.none, sum));
  }
  const found = (await store.spend.sum(tenant, { ...query, topUsers })).map(
    ({ day, user = "others", ...sum }) => [JSON.stringify([day, user]), figuresText(sum)] as const,
  );
  assert.deepEqual(
    new Map(found),
    new Map([...expected].map(([key, sum]) => [key, figuresText(sum)])),
    JSON.stringify({ ...query, topUsers }),
  );
  assert.equal(found.length, expected.size);
}

export const spendSumCases: readonly StoreCase[] = [
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
    assert.deepEqual(await settledByGroup(desk), [[518]]);
    assert.deepEqual(await settledByGroup(desk, { by: ["day"] }), [
      [2, 511],
      [3, 7],
    ]);
    assert.deepEqual(await settledByGroup(desk, { by: ["hour"] }), [
      [71, 400],
      [48, 100],
      [49, 11],
      [73, 7],
    ]);
    assert.deepEqual(await settledByGroup(desk, { by: ["agent", "model"] }), [
      ["lead", "m2", 400],
      ["lead", "m1", 111],
      ["writer", "m2", 7],
      ["lead", "", 0],
    ]);
    assert.deepEqual(await settledByGroup(desk, { by: ["user"] }), [
      ["bob", 411],
      ["ann", 107],
    ]);
    assert.deepEqual(await settledByGroup(desk, { by: ["tree"], limit: 1 }), [["t2", 411]]);
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

  storeCase("the most expensive users keep groups, and all others are one group", async (desk) => {
    const { store, tenant } = desk;
    await fill(desk);
    await store.spend.put(tenant, t3, spendOf({ userId: null, rows: [row({ settledMicros: 200 })] }));
    const by = ["user"] as const;
    assert.deepEqual(await settledByGroup(desk, { by, topUsers: 2 }), [
      ["bob", 411],
      [null, 200],
      [undefined, 107],
    ]);
    assert.deepEqual(await settledByGroup(desk, { by: ["day", "user"], topUsers: 1 }), [
      [2, "bob", 411],
      [2, undefined, 300],
      [3, undefined, 7],
    ]);
    // Hours and models are read from the rows of trees.
    assert.deepEqual(await settledByGroup(desk, { by: ["model", "user"], from: 49, topUsers: 1 }), [
      ["m2", "bob", 400],
      ["m1", "bob", 11],
      ["m2", undefined, 7],
    ]);
    const whole = await store.spend.sum(tenant, { ...all, by });
    assert.deepEqual(await store.spend.sum(tenant, { ...all, by, topUsers: 3 }), whole);
    const [, others] = await store.spend.sum(tenant, { ...all, by, topUsers: 1 });
    const behind = whole.slice(1).reduce<SpendFigures>(Spend.add, Spend.none);
    assert.deepEqual(others && figuresText(others), figuresText(behind));
    assert.deepEqual(await settledByGroup(desk, { topUsers: 1 }), [[718]]);
  }),

  storeCase("filters of money leave out trees that do not match", async (desk) => {
    await fill(desk);
    assert.deepEqual(await settledByGroup(desk, { from: 49, to: 73 }), [[411]]);
    assert.deepEqual(await settledByGroup(desk, { agentType: "writer" }), [[7]]);
    assert.deepEqual(await settledByGroup(desk, { model: "m1" }), [[111]]);
    assert.deepEqual(await settledByGroup(desk, { from: 500 }), []);
    assert.deepEqual(await settledByGroup(desk, { userId: null }), []);
    assert.deepEqual(await desk.store.spend.sum(createTenant(), all), []);
  }),
];
