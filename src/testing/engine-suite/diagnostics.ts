import assert from "node:assert/strict";
import type { Diagnostic, Json, NumberedEvent, RunTool } from "#kernel";
import { memoryStore } from "#stores/memory";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, eventually, onRuntime } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** Throws in its one step. */
const broken = effect("broken", async () => {
  throw new TypeError("broken with password=hunter2");
});

/** Throws in agent code. */
const brokenRun: RunTool<Json> = {
  name: "broken_run",
  description: "Throws",
  risk: "safe",
  input: broken.input,
  run: async () => {
    throw new RangeError("broken too");
  },
};

const lead = agentOf(
  "lead",
  async (ctx) => {
    const first = await ctx.tool("broken", {});
    const second = await ctx.tool("broken_run", {});
    const told = [first, second].flatMap(({ content }) => content);
    ctx.record("custom", { name: "told", data: JSON.stringify(told) });
    throw new SyntaxError("the lead is broken");
  },
  { tools: [broken, brokenRun] },
);

const failing = agentOf("failing", async (ctx) => {
  await ctx.step("work", () => {
    throw new URIError("inside a step");
  });
});

function diagnosticsIn(events: readonly NumberedEvent[]): readonly (Diagnostic | undefined)[] {
  return [...only(events, "tool.end"), ...only(events, "run.end")].map(({ diagnostic }) => diagnostic);
}

function customEventsText(events: readonly NumberedEvent[]): string {
  return JSON.stringify(only(events, "custom"));
}

const erasing = { agents: [lead], maxRestarts: 0, eraseAfterS: 2 };

/** The error of the program's code reaches its author, and is erased with the content of its run. */
export const diagnosticCases: readonly EngineCase[] = [
  {
    name: "5.8 tools and runs that throw leave their error with its line in tool.end and run.end",
    run: (harness) =>
      onRuntime(harness, { agents: [lead], maxRestarts: 0 }, async (runtime) => {
        const events = await historyOf(await runtime.start(lead, "go"));
        const found = diagnosticsIn(events);
        assert.deepEqual(
          found.map((each) => each && [each.source, each.name, each.message]),
          [
            ["tool broken", "TypeError", "broken with password=[secret]"],
            ["tool broken_run", "RangeError", "broken too"],
            ["agent lead", "SyntaxError", "the lead is broken"],
          ],
        );
        for (const each of found) assert.match(each?.frames[0] ?? "", /diagnostics\.[jt]s:\d+:\d+/);
        const told = customEventsText(events);
        assert.match(told, /broken with password=\[secret\]/);
        assert.doesNotMatch(told, /diagnostics\.[jt]s/);
      }),
  },
  {
    name: "5.8 an error inside a step keeps the line where it was thrown, however often the run is replayed",
    run: (harness) =>
      onRuntime(harness, { agents: [failing], maxRestarts: 2 }, async (runtime) => {
        const [diagnostic] = diagnosticsIn(await historyOf(await runtime.start(failing, "go")));
        assert.deepEqual([diagnostic?.source, diagnostic?.name], ["step work", "URIError"]);
        assert.match(diagnostic?.frames[0] ?? "", /diagnostics\.[jt]s:\d+:\d+/);
      }),
  },
  ...["with a store", "without a store"].map((where): EngineCase => ({
    name: `5.8 the errors of a run are erased with its content, ${where}`,
    run: (harness) =>
      onRuntime(
        harness,
        { ...erasing, ...(where === "with a store" && { store: memoryStore() }) },
        async (runtime) => {
          const run = await runtime.start(lead, "go", { retention: "run" });
          assert.equal((await run.result()).status, "failed");
          await eventually("its content is gone", async () => (await run.result()).erased === true);
          const events = await historyOf(run);
          assert.deepEqual(diagnosticsIn(events), [undefined, undefined, undefined]);
          assert.doesNotMatch(JSON.stringify(events), /broken with|diagnostics\.[jt]s/);
        },
      ),
  })),
];
