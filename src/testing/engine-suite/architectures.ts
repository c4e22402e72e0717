import assert from "node:assert/strict";
import type { RunResult } from "#kernel";
import type { RunHandle } from "#runtime";
import { memoryStore } from "#stores/memory";
import { eventually, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { flowTable } from "./flow-table.ts";
import { strategyTable, type StrategyCase, type Workshop } from "./strategy-table.ts";

const quiet = { log: () => undefined };

/** An injected failure. Default: none. */
interface Trouble {
  readonly failing?: string | null;
  readonly poor?: string | null;
  readonly maxCostUsd?: number;
}

/** Runs a strategy to its end. */
async function runOf(
  harness: SuiteHarness,
  strategy: StrategyCase,
  { failing = null, poor = null, maxCostUsd }: Trouble = {},
): Promise<{ readonly result: RunResult; readonly calls: readonly string[] }> {
  const workshop: Workshop = { calls: [], failing, poor, beforeCall: () => undefined };
  const lead = strategy.make(workshop);
  return onRuntime(harness, { agents: [lead], store: memoryStore(), ...quiet }, async (runtime) => {
    const options = maxCostUsd === undefined ? {} : { budget: { maxCostUsd } };
    const run = await runtime.start(lead, "Do it.", options);
    return { result: await run.result(), calls: workshop.calls };
  });
}

/** Compares the end of a strategy, one of whose workers gave no answer, with the table. */
function checkEnd({ ends }: StrategyCase, { status, output, error }: RunResult): void {
  if ("output" in ends) assert.deepEqual([status, output], ["completed", ends.output]);
  else
    assert.ok(
      status === "failed" && String(error?.message).startsWith(ends.error),
      `${status}: ${error?.message}`,
    );
}

/** Caps in micro-dollars: from too little for anything to enough for all. */
const caps = [60, 400, 1_500, 5_000, 20_000];

/** Section 10: architectures. Each one runs against the same table of failures. */
export const architectureCases: readonly EngineCase[] = [...strategyTable, ...flowTable].flatMap(
  (strategy): readonly EngineCase[] => [
    {
      name: `10.1 ${strategy.name} gives its answer at its stated cost`,
      async run(harness) {
        const { result, calls } = await runOf(harness, strategy);
        const { status, stopReason, output, costMicros } = result;
        assert.deepEqual([status, stopReason, output], ["completed", "answer", strategy.answer]);
        assert.deepEqual([calls.length, costMicros], [strategy.calls, 15 * strategy.calls]);
      },
    },
    {
      name: `10.2 ${strategy.name} ends as declared when a worker fails`,
      async run(harness) {
        checkEnd(strategy, (await runOf(harness, strategy, { failing: strategy.failing })).result);
      },
    },
    {
      name: `10.6 ${strategy.name} treats a worker over its own budget as a failed worker`,
      async run(harness) {
        if (strategy.failing === "lead") return;
        checkEnd(strategy, (await runOf(harness, strategy, { poor: strategy.failing })).result);
      },
    },
    {
      name: `10.3 ${strategy.name} lands with the best answer so far, within its cap, when the tree has no money left`,
      async run(harness) {
        for (const cap of caps) {
          const { result, calls } = await runOf(harness, strategy, { maxCostUsd: cap / 1_000_000 });
          const { status, stopReason, output, costMicros } = result;
          const why = `${cap}: ${status} ${stopReason} ${JSON.stringify(output)} ${result.error?.message}`;
          assert.ok(costMicros <= cap && costMicros === 15 * calls.length, why);
          if (status === "completed") continue;
          assert.ok(stopReason === "budget.cost" || status === "failed", why);
          assert.equal(status === "landed", output !== null, why);
        }
      },
    },
    {
      name: `10.4 ${strategy.name} and its workers end when it is cancelled midway`,
      async run(harness) {
        await actDuringLastCall(harness, strategy, async (run) => {
          const { runs } = await run.cancel("enough");
          assert.equal((await run.result()).status, "cancelled");
          assert.ok(runs.some(({ runId }) => runId === run.runId));
        });
      },
    },
    {
      name: `10.5 ${strategy.name} gives the same answer when it is paused midway`,
      async run(harness) {
        await actDuringLastCall(harness, strategy, async (run, release) => {
          await run.pause();
          release();
          await run.resume();
          const { status, output, costMicros } = await run.result();
          assert.deepEqual([status, output, costMicros], ["completed", strategy.answer, 15 * strategy.calls]);
        });
      },
    },
  ],
);

/** Starts a strategy, and does something while its last model call is in flight. */
async function actDuringLastCall(
  harness: SuiteHarness,
  strategy: StrategyCase,
  act: (run: RunHandle, release: () => void) => Promise<void>,
): Promise<void> {
  const released = Promise.withResolvers<void>();
  let begun = 0;
  const workshop: Workshop = {
    calls: [],
    failing: null,
    poor: null,
    beforeCall: async (_, signal) => {
      begun += 1;
      if (begun < strategy.calls) return;
      const aborted = Promise.withResolvers<never>();
      const stop = (): void => aborted.reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      await Promise.race([released.promise, aborted.promise]);
    },
  };
  const lead = strategy.make(workshop);
  await onRuntime(harness, { agents: [lead], store: memoryStore(), ...quiet }, async (runtime) => {
    const run = await runtime.start(lead, "Do it.");
    await eventually("the last call is in flight", () => begun >= strategy.calls);
    await act(run, released.resolve);
  });
}
