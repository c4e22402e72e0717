import assert from "node:assert/strict";
import { AgentId, type Page, RunId, type RunRecord, SessionId, TreeId, type TreeSearch } from "#kernel";
import { bob, type Desk, runOf, createTenant, type StoreCase, storeCase, tree } from "./harness.ts";

const run = (name: string, fields: Partial<RunRecord> = {}): RunRecord =>
  runOf({ runId: RunId.root(TreeId.of(name)), ...fields });

const namedRun = (id: string, name: string | null, costMicros: number): RunRecord =>
  run(id, { name, costMicros });

async function names(desk: Desk, filter: Parameters<typeof desk.store.runs.list>[1]): Promise<string[]> {
  const { items } = await desk.store.runs.list(desk.tenant, filter, { size: 100 });
  return items.map(({ treeId }) => treeId);
}

async function put(desk: Desk, ...runs: readonly RunRecord[]): Promise<void> {
  for (const each of runs) await desk.store.runs.put(desk.tenant, each);
}

export const runCases: readonly StoreCase[] = [
  storeCase("a run that is put several times is stored once, unchanged", async (desk) => {
    const whole = runOf({
      runId: RunId.of(tree, 3),
      parentRunId: RunId.root(tree),
      agentId: AgentId.of("writer", "north"),
      status: "landed",
      stopReason: "budget.cost",
      endedAt: 2_000,
      costMicros: Number.MAX_SAFE_INTEGER,
      maxCostMicros: 7,
      agents: null,
      liveAgents: null,
    });
    await put(desk, whole, whole);
    const { items, next } = await desk.store.runs.list(desk.tenant, {}, { size: 10 });
    assert.deepEqual(items, [whole]);
    assert.equal(next, null);
  }),

  storeCase("a record of more events replaces one of fewer, never the reverse", async (desk) => {
    const begun = run("a", { seq: 1 });
    const ended = run("a", { seq: 9, status: "completed", stopReason: "answer", endedAt: 5_000 });
    await put(desk, begun, ended, begun);
    assert.deepEqual(await desk.store.runs.tree(desk.tenant, TreeId.of("a")), [ended]);
  }),

  storeCase("runs are listed newest first, equals by id", async (desk) => {
    await put(desk, run("a", { startedAt: 1 }), run("c", { startedAt: 2 }), run("b", { startedAt: 2 }));
    assert.deepEqual(await names(desk, {}), ["c", "b", "a"]);
  }),

  storeCase("a filter returns the runs that match all its conditions", async (desk) => {
    await put(
      desk,
      run("a", { startedAt: 1, status: "failed", agentId: AgentId.of("cook", "1") }),
      run("b", { startedAt: 2, status: "failed", userId: bob }),
      run("c", { startedAt: 3, userId: null, sessionId: SessionId.of("other") }),
      runOf({ runId: RunId.of(TreeId.of("d"), 1), parentRunId: RunId.root(TreeId.of("d")), startedAt: 4 }),
    );
    assert.deepEqual(await names(desk, { status: "failed" }), ["b", "a"]);
    const runIds = ["a", "c", "e"].map((name) => RunId.root(TreeId.of(name)));
    assert.deepEqual(await names(desk, { runIds }), ["c", "a"]);
    assert.deepEqual(await names(desk, { runIds: [] }), []);
    assert.deepEqual(await names(desk, { agentType: "cook" }), ["a"]);
    assert.deepEqual(await names(desk, { status: "failed", userId: bob }), ["b"]);
    assert.deepEqual(await names(desk, { userId: null }), ["c"]);
    assert.deepEqual(await names(desk, { sessionId: SessionId.of("other") }), ["c"]);
    assert.deepEqual(await names(desk, { rootsOnly: true }), ["c", "b", "a"]);
    assert.deepEqual(await names(desk, { agentType: "coo" }), []);
    assert.deepEqual(await names(desk, { since: 2 }), ["d", "c", "b"]);
    assert.deepEqual(await names(desk, { since: 2, until: 3 }), ["b"]);
  }),

  storeCase("a list may filter by several statuses and by the stop reason", async (desk) => {
    const statuses = ["failed", "landed", "running", "completed"] as const;
    const runs = Array.from({ length: 20 }, (_, n) => {
      const status = statuses[n % 4] ?? "running";
      const stopReason = n % 8 === 1 ? "deadline" : null;
      return run(`r${n}`, { startedAt: 100 - n, status, stopReason, name: `Report ${n}` });
    });
    await put(desk, ...runs);
    const wanted = runs.filter(({ status }) => status === "failed" || status === "landed");
    const seen: RunRecord[] = [];
    for (let after: string | null = ""; after !== null;) {
      const request: { size: number; after?: string } = after === "" ? { size: 3 } : { size: 3, after };
      const page = await desk.store.runs.list(desk.tenant, { status: ["landed", "failed"] }, request);
      seen.push(...page.items);
      after = page.next;
    }
    assert.deepEqual(seen, wanted);
    assert.deepEqual(await names(desk, { stopReason: "deadline" }), ["r1", "r9", "r17"]);
    assert.deepEqual(await names(desk, { stopReason: ["deadline", "answer"] }), ["r1", "r9", "r17"]);
    assert.deepEqual(await names(desk, { status: [] }), []);
  }),

  storeCase("paging returns each run once while other runs are put", async (desk) => {
    const before = Array.from({ length: 25 }, (_, n) => run(`old-${n}`, { startedAt: 100 + (n % 7) }));
    await put(desk, ...before);
    const seen: string[] = [];
    let after: string | undefined;
    for (let round = 0; round < 20; round += 1) {
      const request = after === undefined ? { size: 4 } : { size: 4, after };
      const page = await desk.store.runs.list(desk.tenant, {}, request);
      seen.push(...page.items.map(({ treeId }) => treeId));
      if (page.next === null) break;
      after = page.next;
      // One run that is newer than all, and one that is older: the first never appears, the second at its position.
      await put(desk, run(`new-${round}`, { startedAt: 1_000 }), run("early", { startedAt: 1 }));
    }
    assert.equal(new Set(seen).size, seen.length);
    const expected = [...before.map(({ treeId }) => String(treeId)), "early"];
    assert.deepEqual(seen.toSorted(), expected.toSorted());
    assert.equal(seen.at(-1), "early");
  }),

  storeCase("trees are found by the beginning of their id or name, and by their cost", async (desk) => {
    const { store, tenant } = desk;
    const child = runOf({ runId: RunId.of(TreeId.of("ab"), 1), parentRunId: RunId.root(TreeId.of("ab")) });
    await put(
      desk,
      namedRun("ab", "Zebra", 5),
      namedRun("a", "Report\nof May", 30),
      namedRun("b", "Report", 30),
    );
    await put(desk, namedRun("abc", null, 40), namedRun("aB", "report", 1), { ...child, costMicros: 99 });
    await store.runs.put(createTenant(), namedRun("abd", "Report", 100));
    const found = async (search: TreeSearch): Promise<string[]> => {
      const seen: string[] = [];
      for (let after: string | null = ""; after !== null;) {
        const request: { size: number; after?: string } = after === "" ? { size: 1 } : { size: 1, after };
        const page: Page<RunRecord> = await store.runs.search(tenant, search, request);
        seen.push(...page.items.map(({ treeId }) => treeId));
        after = page.next;
      }
      return seen;
    };
    assert.deepEqual(await found({ id: "ab" }), ["abc", "ab"]);
    assert.deepEqual(await found({ id: "c" }), []);
    assert.deepEqual(await found({ name: "Report" }), ["b", "a"]);
    assert.deepEqual(await found({ name: "Rep%" }), []);
    assert.deepEqual(await found({ minCostMicros: 30 }), ["abc", "b", "a"]);
    const ids = [RunId.root(TreeId.of("ab")), RunId.root(TreeId.of("b")), RunId.root(TreeId.of("abd"))];
    assert.deepEqual(await names(desk, { runIds: ids }), ["b", "ab"]);
    assert.deepEqual(await names(desk, { runIds: [] }), []);
  }),

  storeCase("the money and agents of live trees are summed, all or a user's", async (desk) => {
    const money = { costMicros: 10, inDoubtMicros: 2, reservedMicros: 3, liveAgents: 4 };
    await put(desk, run("a", money), run("b", { ...money, userId: bob, status: "paused" }));
    await put(desk, run("c", { ...money, status: "completed", endedAt: 2, stopReason: "answer" }));
    await put(desk, runOf({ ...money, runId: RunId.of(tree, 1), parentRunId: RunId.root(tree) }));
    const { runs } = desk.store;
    const one = { trees: 1, agents: 4, costMicros: 10, inDoubtMicros: 2, reservedMicros: 3 };
    assert.deepEqual(await runs.live(desk.tenant, { userId: bob }), one);
    const both = { trees: 2, agents: 8, costMicros: 20, inDoubtMicros: 4, reservedMicros: 6 };
    assert.deepEqual(await runs.live(desk.tenant, {}), both);
    const none = { trees: 0, agents: 0, costMicros: 0, inDoubtMicros: 0, reservedMicros: 0 };
    assert.deepEqual(await runs.live(createTenant(), {}), none);
  }),

  storeCase("a tree shows its runs in the order of their numbers", async (desk) => {
    for (const number of [10, 2, 0, 1]) await put(desk, runOf({ runId: RunId.of(tree, number) }));
    await put(desk, run("other"));
    const runs = await desk.store.runs.tree(desk.tenant, tree);
    assert.deepEqual(
      runs.map(({ runId }) => runId),
      [0, 1, 2, 10].map((number) => RunId.of(tree, number)),
    );
  }),

  storeCase("an invalid cursor and an empty page size are refused", async ({ store, tenant }) => {
    for (const page of [
      { size: 5, after: "nonsense" },
      { size: 5, after: btoa("[1]") },
      { size: 0 },
      { size: 0.5 },
    ])
      await assert.rejects(store.runs.list(tenant, {}, page), TypeError);
  }),
];
