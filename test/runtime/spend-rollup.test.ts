import { agent as agentOf } from "reeve";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import {
  AgentId,
  AttemptId,
  EventId,
  RunId,
  StepId,
  TreeId,
  type NumberedEvent,
  type Store,
  type TreeSpend,
} from "#kernel";
import { Runtime, type RunHandle } from "#runtime";
import { seededRandom } from "../../src/base/seeded-random.ts";
import { foldSpend, noSpend } from "../../src/runtime/fold-spend.ts";
import { SpendWriter } from "../../src/runtime/spend-writer.ts";
import { planTree, spendingAgent, startTree } from "./money-trees.ts";

const noTenant = { tenantId: null };
const always = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1_000 };

/** A store that loses every third answer about events: they are written, and the writer tries again. */
function storeLosingAnswers(store: Store): Store {
  let writes = 0;
  const append: Store["events"]["append"] = async (...given) => {
    await store.events.append(...given);
    writes += 1;
    if (writes % 3 === 0) throw new Error("the connection is lost");
  };
  const events: Store["events"] = {
    append,
    read: (...given) => store.events.read(...given),
    rewrite: (...given) => store.events.rewrite(...given),
    waitForEvents: (...given) => store.events.waitForEvents(...given),
    changes: (...given) => store.events.changes(...given),
  };
  return { ...rest(store), events };
}

const rest = (store: Store): Store => ({
  ...store,
  eraseTree: (...given) => store.eraseTree(...given),
  isErased: (...given) => store.isErased(...given),
  eraseUser: (...given) => store.eraseUser(...given),
  [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
});

async function readEvents(root: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of root.events()) events.push(event);
  return events;
}

interface Money {
  readonly settledMicros: number;
  readonly inDoubtMicros: number;
}

async function ledgerOf(root: RunHandle): Promise<Money> {
  const { settled, inDoubt } = (await root.ledger()).tree;
  return { settledMicros: settled.costMicros, inDoubtMicros: inDoubt.costMicros };
}

/** An agent whose model never answers: a cancelled call may have cost money. */
const silentAgent = agentOf({
  name: "node",
  model: {
    id: "billing",
    price: { input: 1_000_000, output: 1_000_000 },
    generate: (_request, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  },
  budget: { maxCostUsd: 1 },
});

/** Random trees whose runs are cancelled and held while they spend. */
async function spendTrees(
  runtime: Runtime,
  { agent, count }: { readonly agent: ReturnType<typeof spendingAgent>["agent"]; readonly count: number },
): Promise<readonly RunHandle[]> {
  const roots: RunHandle[] = [];
  for (let seed = 0; seed < count; seed += 1) {
    const random = seededRandom(`spend/${seed}`);
    const root = await startTree(
      runtime,
      agent,
      `spend-${seed}`,
      planTree({ seed, cost: [0.3, 1.5], ceiling: [0.05, 0.5] }),
    );
    roots.push(root);
    for await (const { type, runId } of root.events()) {
      if (type !== "model.start" || random() > 0.15) continue;
      await runtime
        .run(runId)
        .cancel("enough")
        .catch(() => undefined);
    }
  }
  return roots;
}

test("the roll-up equals the ledgers of random trees to the micro-dollar, also when batches are written again", async () => {
  const store = storeLosingAnswers(memoryStore());
  const { agent } = spendingAgent({ judged: true });
  await using runtime = new Runtime({ agents: [agent], engine: local(), store });
  const roots = await spendTrees(runtime, { agent, count: 40 });
  const found = new Map(
    (await store.spend.sum(noTenant, { ...always, by: ["tree"] })).map((sum) => [sum.tree ?? "", sum]),
  );
  let doubts = 0;
  for (const root of roots) {
    const ledger = await ledgerOf(root);
    expect({ tree: root.treeId, ...found.get(root.treeId) }).toMatchObject({ tree: root.treeId, ...ledger });
    doubts += ledger.inDoubtMicros;
    const runs = await runtime.runs.tree(root.treeId);
    const stopped = runs.filter(({ stopReason }) => stopReason?.startsWith("budget.")).length;
    expect(found.get(root.treeId)).toMatchObject({ runs: runs.length, stopped });
  }
  expect(doubts).toBeGreaterThan(0);
});

test("a call in doubt leaves the list and becomes settled money when it is reconciled", async () => {
  const store = memoryStore();
  await using runtime = new Runtime({ agents: [silentAgent], engine: local(), store });
  for (let number = 0; number < 3; number += 1) {
    const root = await runtime.start(silentAgent, "begin");
    for await (const { type } of root.events()) if (type === "model.start") await root.cancel("enough");
  }
  const { items } = await store.spend.inDoubt(noTenant, {}, { size: 1_000 });
  expect(items).toHaveLength(3);
  expect(items[0]).toMatchObject({
    agentType: "node",
    model: "billing",
    stepId: expect.stringMatching(/:model:/),
  });
  for (const { runId, attempt } of items)
    expect(await runtime.run(runId).reconcile(attempt, { input: 0, output: 17 })).toBe(true);
  await expect.poll(async () => (await store.spend.inDoubt(noTenant, {}, { size: 9 })).items).toEqual([]);
  const trees = new Set(items.map(({ treeId }) => treeId));
  for (const tree of trees) {
    const ledger = await ledgerOf(runtime.run(`${tree}~0`));
    const sums = await store.spend.sum(noTenant, { ...always, by: ["tree"] });
    const sum = sums.find((each) => each.tree === tree);
    expect(sum).toMatchObject(ledger);
    expect(ledger.inDoubtMicros).toBe(0);
  }
});

test("any split of the events into overlapping and repeated batches gives the same figures", async () => {
  const { agent } = spendingAgent({ judged: true });
  await using runtime = new Runtime({ agents: [agent], engine: local(), store: memoryStore() });
  const roots = await spendTrees(runtime, { agent, count: 12 });
  for (const [index, root] of roots.entries()) {
    const events = await readEvents(root);
    const whole = foldSpend(noSpend(null), events);
    const random = seededRandom(`cut/${index}`);
    const store = memoryStore();
    const tree = TreeId.of(root.treeId);
    const runs = await runtime.runs.tree(tree);
    for (let from = 0, upTo = 0; upTo < events.length;) {
      // It starts again somewhere before, as after a crash.
      upTo = Math.min(events.length, from + 1 + Math.floor(random() * 12));
      const batch = events.slice(from, upTo);
      await new SpendWriter({ store, now: () => 0 }).add(noTenant, tree, {
        events: batch,
        runs,
        retentions: {},
        approvals: [],
        more: false,
        closed: false,
        onReduced: async () => undefined,
      });
      await store.events.append(noTenant, tree, batch);
      from = Math.max(0, upTo - Math.floor(random() * 6));
    }
    expect(sorted(await store.spend.tree(noTenant, tree))).toEqual(sorted(whole));
  }
});

/** The events of one lost call: reserved and begun, without an end. */
const lostCall = (seq: number, attempt: string): readonly NumberedEvent[] => {
  const runId = RunId.root(TreeId.of("t"));
  const base = {
    treeId: TreeId.of("t"),
    runId,
    agent: AgentId.of("lead"),
    at: 7,
    attempt: AttemptId.of(attempt),
  };
  const idOf = (place: number) => EventId.of(runId, String(place));
  return [
    { ...base, seq, eventId: idOf(seq), type: "budget.reserved", tokens: 9, costMicros: 50 },
    {
      ...base,
      seq: seq + 1,
      eventId: idOf(seq + 1),
      type: "model.start",
      model: "m\0".padEnd(300, "x"),
      step: StepId.of(runId, "model", 1),
    },
  ];
};

test("a call is in doubt at its ceiling if its step begins again or its run ends", () => {
  const twice = [...lostCall(1, "a"), ...lostCall(3, "b")];
  const open = foldSpend(noSpend(null), twice);
  expect(open.calls.map(({ attempt, state }) => [attempt, state])).toEqual([
    ["a", "in-doubt"],
    ["b", "open"],
  ]);
  const [last] = lostCall(5, "c");
  if (!last) throw new Error("there is an event");
  const end: NumberedEvent = {
    ...last,
    type: "run.end",
    attempt: null,
    status: "cancelled",
    stopReason: "deadline",
    durationMs: 1,
    usage: { input: 0, output: 0 },
    costMicros: 100,
  };
  const ended = foldSpend(open, [end]);
  expect(ended.calls.map(({ state }) => state)).toEqual(["in-doubt", "in-doubt"]);
  const sum = (figure: "inDoubtMicros" | "calls" | "stopped"): number =>
    ended.rows.reduce((all, row) => all + row[figure], 0);
  expect([sum("inDoubtMicros"), sum("calls"), sum("stopped")]).toEqual([100, 2, 1]);
  // Databases cannot index a name that is too long, and one of them has no zero character.
  expect(ended.rows.every(({ model }) => model.length <= 200 && !model.includes("\0"))).toBe(true);
});

const sorted = (spend: TreeSpend | null): unknown => ({
  rows: spend?.rows.map((row) => JSON.stringify(row)).toSorted(),
  calls: spend?.calls.map((call) => JSON.stringify(call)).toSorted(),
});
