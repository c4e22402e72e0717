import assert from "node:assert/strict";
import { ChatMessage, type Agent, type CancelReceipt } from "#kernel";
import type { RunHandle } from "#runtime";
import { manualModel, type ManualModel } from "../manual-model.ts";
import { agentOf, eventually, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { historyOf, only } from "./history.ts";
import { stopwatch } from "./stopwatch.ts";

/** Section 4: one cancel for a whole tree. */
export const cancelTreeCases: readonly EngineCase[] = [
  {
    name: "4.5 a tree of 13 with every call in flight ends within a second of its cancel, with a receipt for each",
    async run(harness) {
      const { startMs, cancelMs } = await cancelThirteen(harness);
      // A machine so slow that the same tree takes most of a second to start may take longer to end it, too.
      const limit = Math.max(1_000, 1.25 * startMs) * (harness.slowness ?? 1);
      assert.ok(cancelMs < limit, `took ${cancelMs} of ${limit} ms`);
    },
  },
];

/** Milliseconds from the start until all runs work, and from the cancel until all have ended. */
interface Took {
  readonly startMs: number;
  readonly cancelMs: number;
}

/** Cancels a tree of 1 + 3 + 9, and compares the receipt with what happened. */
async function cancelThirteen(harness: SuiteHarness): Promise<Took> {
  const model = manualModel({ price: { input: 1_000_000, output: 1_000_000 } });
  const worker = staff("worker", model, null);
  const researcher = staff("researcher", model, worker);
  const lead = staff("lead", model, researcher);
  // The tree would end it, but not during this case.
  const options = { agents: [lead, researcher, worker], cancelGraceS: 3_600 };
  return onRuntime(harness, options, async (runtime) => {
    const elapsed = await stopwatch();
    const run = await runtime.start(lead, "go");
    await eventually("13 calls are in flight", () => model.calls.length === 13);
    const startMs = elapsed();
    const receipt = await run.cancel("enough");
    const cancelMs = elapsed() - startMs;
    // The receipt may reach the caller before a worker learns that its execution is over.
    await eventually("every call is aborted", () => model.calls.every(({ signal }) => signal.aborted));
    await checkReceipt(run, receipt);
    assert.equal(model.calls.length, 13, "no call begins afterwards");
    return { startMs, cancelMs };
  });
}

/** Spawns three children, then calls the model. */
function staff(name: string, model: ManualModel, below: Agent | null): Agent {
  const run: Agent["run"] = async (ctx) => {
    for (const writer of below ? [below, below, below] : []) await ctx.spawn(writer, "work");
    await ctx.llm([ChatMessage.user("hello")], { maxOutputTokens: 100 });
  };
  return agentOf(name, run, { model });
}

async function checkReceipt(run: RunHandle, { reason, runs }: CancelReceipt): Promise<void> {
  const events = await historyOf(run);
  const ends = only(events, "run.end");
  assert.deepEqual([reason, runs.length, ends.length], ["enough", 13, 13]);
  assert.deepEqual(new Set(runs.map(({ runId }) => runId)), new Set(ends.map(({ runId }) => runId)));
  for (const { status, stopReason } of ends)
    assert.deepEqual([status, stopReason], ["cancelled", "cancelled"]);
  const cancelled = only(events, "run.cancelling")[0];
  assert.ok(only(events, "model.start").every(({ seq }) => seq < (cancelled?.seq ?? 0)));
  for (const { runId, at } of ends)
    assert.equal(runs.find((stopped) => stopped.runId === runId)?.tookMs, at - (cancelled?.at ?? 0));
  // The cost of the aborted calls is unknown: each remains booked, and was booked after the cancel.
  const { costMicros, inDoubtMicros } = await run.result();
  assert.ok(costMicros > 0 && costMicros === inDoubtMicros);
  assert.deepEqual(new Set(runs.map(({ spentAfter }) => spentAfter)), new Set([costMicros / 13]));
}
