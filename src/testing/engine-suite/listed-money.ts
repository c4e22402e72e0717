import assert from "node:assert/strict";
import { ChatMessage, type Agent, type RunRecord } from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { memoryStore } from "#stores/memory";
import { manualModel, type ManualModel } from "../manual-model.ts";
import { agentOf, eventually, forever, onRuntime, type EngineCase, type SuiteHarness } from "./harness.ts";
import { reaches } from "./history.ts";
import { tokenPrice } from "./spender.ts";

/** Section 3: the money of runs, as lists show it. */
export const listedMoneyCases: readonly EngineCase[] = [
  {
    name: "3.10 the record of a waiting parent has its children's current reservations and spend",
    async run(harness) {
      await runDuringCalls(harness, async ({ runtime, run, model }) => {
        const records = (): Promise<readonly RunRecord[]> => runtime.runs.tree(run.treeId);
        const isListed = async (holds: (record: RunRecord) => boolean): Promise<boolean> => {
          const listed = await records();
          return listed.length === 3 && listed.every(holds);
        };
        await eventually("all three show the reservation", () =>
          isListed(({ costMicros, reservedMicros }) => costMicros === 0 && reservedMicros > 0),
        );
        model.calls[0]?.answer("hi");
        await eventually("all three show the cost", () =>
          isListed(({ costMicros, reservedMicros }) => costMicros === 15 && reservedMicros === 0),
        );
        // A list shows the state at the last event; only the tree knows whether the run waits now.
        await reaches(run, "waiting");
        await eventually(
          "only the last one has ended",
          async () => (await records()).map(({ endedAt }) => endedAt !== null).join() === "false,false,true",
        );
      });
    },
  },
  {
    name: "3.10 result, record and ledger of a cancelled tree tell the same cost, all of it in doubt",
    async run(harness) {
      await runDuringCalls(harness, async ({ runtime, run }) => {
        await run.cancel();
        const { costMicros, inDoubtMicros } = await run.result();
        assert.ok(costMicros > 0);
        assert.equal(inDoubtMicros, costMicros);
        const { tree } = await run.ledger();
        assert.deepEqual([tree.inDoubt.costMicros, tree.reserved.costMicros], [costMicros, 0]);
        await eventually("the list shows it", async () =>
          isListedAs(await rootOf(runtime, run.treeId), costMicros),
        );
      });
    },
  },
];

/** A tree of three runs, the last of which has a call in flight. */
interface Calling {
  readonly runtime: Runtime;
  /** The root. */
  readonly run: RunHandle;
  readonly model: ManualModel;
}

async function runDuringCalls(
  harness: SuiteHarness,
  body: (calling: Calling) => Promise<void>,
): Promise<void> {
  const model = manualModel({ price: tokenPrice });
  const { lead, agents } = team(model);
  await onRuntime(harness, { agents, store: memoryStore() }, async (runtime) => {
    const run = await runtime.start(lead, "go");
    await eventually("a call is in flight", () => model.calls.length === 1);
    await body({ runtime, run, model });
  });
}

/** A parent waits for its child, which waits forever once its own child has made a call. */
function team(model: ManualModel): { readonly lead: Agent; readonly agents: readonly Agent[] } {
  const writer = agentOf(
    "writer",
    async (ctx) => void (await ctx.llm([ChatMessage.user("hello")], { maxOutputTokens: 100 })),
    { model },
  );
  const deputy = agentOf("deputy", async (ctx) => {
    await ctx.join(await ctx.spawn(writer, "work"));
    await forever(ctx);
  });
  const lead = agentOf("lead", async (ctx) => void (await ctx.join(await ctx.spawn(deputy, "work"))));
  return { lead, agents: [lead, deputy, writer] };
}

const isListedAs = (root: RunRecord | undefined, costMicros: number): boolean =>
  root?.endedAt !== null && root?.costMicros === costMicros && root.inDoubtMicros === costMicros;

const rootOf = async (runtime: Runtime, tree: string): Promise<RunRecord | undefined> =>
  (await runtime.runs.tree(tree)).find(({ parentRunId }) => parentRunId === null);
