import {
  AttemptId,
  RunId,
  Spend,
  StepId,
  TreeId,
  type SpendCall,
  type SpendQuery,
  type SpendRow,
  type TreeSpend,
} from "#kernel";
import { ann, bob, type Desk } from "./harness.ts";

/** Returns a row of figures. */
export const row = (fields: Partial<SpendRow> = {}): SpendRow => ({
  ...Spend.none,
  hour: 48,
  agentType: "lead",
  model: "m1",
  ...fields,
});

/** Returns the roll-up of a tree. */
export const spendOf = (fields: Partial<TreeSpend> = {}): TreeSpend => ({
  userId: ann,
  seq: 1,
  rolledSeq: 0,
  rows: [row({ settledMicros: 5 })],
  calls: [],
  ...fields,
});

/** Returns a call of a tree. */
export const callOf = (of: TreeId, fields: Partial<SpendCall> = {}): SpendCall => ({
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

/** The query for one sum of everything. */
export const all: SpendQuery = { from: 0, to: 1_000, by: [], limit: 100 };

/** Returns the settled money of each group, after the values of its dimensions. */
export const settledByGroup = async (
  { store, tenant }: Desk,
  query: Partial<SpendQuery> = {},
): Promise<unknown> => {
  const { by = [] } = query;
  const sums = await store.spend.sum(tenant, { ...all, ...query });
  return sums.map((sum) => {
    const values: unknown[] = by.map((name) => sum[name]);
    return values.concat(sum.settledMicros);
  });
};

/** The trees of the cases. */
export const [t1, t2, t3] = [TreeId.of("t1"), TreeId.of("t2"), TreeId.of("t3")];

/** Puts two trees of two users, on two days. */
export async function fill({ store, tenant }: Desk): Promise<void> {
  const rows = [
    row({ calls: 2, inputTokens: 30, outputTokens: 4, cachedTokens: 20, settledMicros: 100 }),
    row({ model: "", runs: 3, stopped: 1, denied: 2 }),
    row({ hour: 73, agentType: "writer", model: "m2", calls: 1, settledMicros: 7, inDoubtMicros: 1 }),
  ];
  await store.spend.put(tenant, t1, spendOf({ rows }));
  const other = [row({ hour: 49, settledMicros: 11 }), row({ hour: 71, model: "m2", settledMicros: 400 })];
  await store.spend.put(tenant, t2, spendOf({ userId: bob, rows: other }));
}
