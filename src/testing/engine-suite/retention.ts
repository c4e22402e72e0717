import assert from "node:assert/strict";
import type { AttemptId, HistoryRetention, RunResult } from "#kernel";
import type { RunHandle, RuntimeOptions } from "#runtime";
import { memoryStore } from "#stores/memory";
import { agentOf, type EngineCase, eventually, onRuntime } from "./harness.ts";
import { historyOf, only } from "./history.ts";
import { ask, greedyModel, spender, tokenPrice } from "./spender.ts";

/** Long enough to read content before it is erased, also on a busy machine. */
const eraseAfterS = 2;

/** With a store, events are in the store; without one, in the tree. */
const stores: readonly { readonly where: string; readonly open: () => Pick<RuntimeOptions, "store"> }[] = [
  { where: "without a store", open: () => ({}) },
  { where: "with a store", open: () => ({ store: memoryStore() }) },
];

/** A parent with three children, one for each retention. Each child leaves content in every place that can hold it. */
const retentions = ["permanent", "run", "none"] as const satisfies readonly HistoryRetention[];

const writer = agentOf("writer", async (ctx, inbox) => {
  for await (const { text } of inbox) {
    await ctx.emit(`${text} emitted`);
    if (text.startsWith("fail")) throw new TypeError(`${text} thrown`);
    return `${text} returned`;
  }
  return null;
});

const lead = agentOf("lead", async (ctx, inbox) => {
  for await (const { text } of inbox) {
    const children = await Promise.all(
      retentions.map((retention) => ctx.spawn(writer, `${text} ${retention}`, { retention })),
    );
    await Promise.all(children.map((child) => ctx.join(child)));
    return `${text} returned`;
  }
  return null;
});

async function waitForErasure(run: RunHandle): Promise<RunResult> {
  let result = await run.result();
  await eventually("its words are gone", async () => {
    result = await run.result();
    return result.erased === true;
  });
  return result;
}

async function clears(run: RunHandle, attempt: AttemptId | null): Promise<void> {
  assert.ok(attempt);
  assert.equal(await run.reconcile(attempt, { input: 10, output: 5 }), true);
}

const isAbout = (words: string, value: unknown): boolean => JSON.stringify(value).includes(words);

const casesWith = ({ where, open }: (typeof stores)[number]): readonly EngineCase[] => [
  {
    name: `8.7 non-permanent content is readable until the tree ends, and erased soon after, ${where}`,
    run: (harness) =>
      onRuntime(harness, { agents: [lead, writer], eraseAfterS, ...open() }, async (runtime) => {
        const run = await runtime.start(lead, "well", { retention: "run" });
        const first = await run.result();
        assert.equal(first.output, "well returned");
        assert.equal(first.erased, undefined);
        const left = await waitForErasure(run);
        assert.deepEqual({ ...left, erased: undefined }, { ...first, output: null, erased: undefined });
        const events = await historyOf(run);
        assert.deepEqual(
          events.map(({ seq }) => seq),
          events.map((_, index) => index + 1),
        );
        const told = only(events, "progress.emitted").map(({ data }) => data);
        assert.deepEqual(new Set(told), new Set(["well permanent emitted", null]));
        assert.equal(told.length, 3);
      }),
  },
  {
    name: `8.7 permanent content stays readable, ${where}`,
    run: (harness) =>
      onRuntime(harness, { agents: [lead, writer], eraseAfterS, ...open() }, async (runtime) => {
        const run = await runtime.start(lead, "well");
        const child = only(await historyOf(run), "spawn.admitted")[1]?.child;
        assert.ok(child);
        await waitForErasure(runtime.run(child));
        assert.equal((await run.result()).output, "well returned");
        assert.equal(await run.status(), "completed");
      }),
  },
  {
    name: `8.7 an erased error keeps only its code, ${where}`,
    run: (harness) =>
      onRuntime(harness, { agents: [writer], eraseAfterS, maxRestarts: 0, ...open() }, async (runtime) => {
        const run = await runtime.start(writer, "fail", { retention: "none" });
        assert.equal((await run.result()).error?.message, "fail thrown");
        const { error } = await waitForErasure(run);
        assert.equal(error?.code, "foreign");
        assert.ok(!isAbout("thrown", [error, await historyOf(run)]));
      }),
  },
  {
    name: `8.7 the same id is the same tree after its content is erased, ${where}`,
    run: (harness) =>
      onRuntime(harness, { agents: [writer], eraseAfterS, ...open() }, async (runtime) => {
        const id = `again-${crypto.randomUUID()}`;
        const run = await runtime.start(writer, "well", { id, retention: "none" });
        const { costMicros } = await waitForErasure(run);
        const again = await runtime.start(writer, "well", { id, retention: "none" });
        assert.deepEqual(await again.result(), await run.result());
        assert.equal((await again.result()).costMicros, costMicros);
        await assert.rejects(runtime.start(writer, "other", { id }), { code: "id-conflict" });
      }),
  },
];

const lateReadCase = ({ where, open }: (typeof stores)[number]): EngineCase => ({
  name: `8.7 a result first read after erasure has no content, ${where}`,
  run: (harness) =>
    onRuntime(harness, { agents: [writer], eraseAfterS, ...open() }, async (runtime) => {
      const run = await runtime.start(writer, "well", { retention: "run" });
      const left = await waitForErasure(runtime.run(run.treeId));
      assert.deepEqual(await run.result(), left);
      assert.equal(left.output, null);
    }),
});

const lateDecisionCase = ({ where, open }: (typeof stores)[number]): EngineCase => ({
  name: `8.7 decisions about a tree after its erasure are reported in order, ${where}`,
  run: (harness) => {
    const model = greedyModel({ price: tokenPrice, reports: () => null });
    const calls = Array.from({ length: 40 }, () => ask(100));
    const agent = spender(model, calls);
    return onRuntime(harness, { agents: [agent], eraseAfterS, ...open() }, async (runtime) => {
      const run = await runtime.start(agent, "go", { retention: "none" });
      assert.equal((await waitForErasure(run)).inDoubtMicros, 4000);
      const before = await historyOf(run);
      const doubts = only(before, "budget.settled");
      let told = before.length;
      // Each at once, faster than it is written into a store; the first is one event short of a page.
      for (const wave of [doubts.slice(0, 15), doubts.slice(15)]) {
        await Promise.all(wave.map(({ attempt }) => clears(run, attempt)));
        told += wave.length;
        await eventually("all is told", async () => (await historyOf(run)).length >= told);
      }
      assert.equal((await run.result()).inDoubtMicros, 0);
      assert.deepEqual(
        (await historyOf(run)).map(({ seq }) => seq),
        Array.from({ length: told }, (_, index) => index + 1),
      );
    });
  },
});

/** Section 8.7: what remains of a tree. */
export const retentionCases: readonly EngineCase[] = stores.flatMap((store) =>
  casesWith(store).concat(lateReadCase(store), lateDecisionCase(store)),
);
