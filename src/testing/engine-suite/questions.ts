import assert from "node:assert/strict";
import { Json, type Agent, type Approver, type Tool } from "#kernel";
import type { RunHandle, RuntimeOptions } from "#runtime";
import { effect } from "./effect.ts";
import { asked, isRefused } from "./approvals.ts";
import { agentOf, type EngineCase, onRuntime } from "./harness.ts";
import { historyOf, only } from "./history.ts";

const askTool: Tool = {
  ...effect("ask", async (input) => ({ got: Json.as<{ readonly answer: Json }>(input).answer })),
  answeredBy: "human",
};

/** Asks every question it is given, and returns the results. */
const asker: Agent = agentOf(
  "asker",
  async (ctx, inbox) => {
    for await (const { text } of inbox) {
      const results: string[] = [];
      for (const question of Json.as<readonly Json[]>(JSON.parse(text))) {
        const { content } = await ctx.tool("ask", question);
        const [first] = content;
        results.push(first?.type === "text" ? first.text : "");
      }
      return results;
    }
    return null;
  },
  { tools: [askTool], policy: { permissions: { decide: () => "allow" } } },
);

const day = { question: "On which day?", choices: ["Monday", "Friday"] };
const form = {
  question: "Where to?",
  fields: [
    { name: "city", type: "text" },
    { name: "rooms", type: "number", optional: true },
  ],
};

function asking(
  name: string,
  questions: readonly Json[],
  body: (run: RunHandle) => Promise<void>,
  options: Omit<RuntimeOptions, "agents" | "engine"> = {},
): EngineCase {
  return {
    name,
    run: (harness) =>
      onRuntime(harness, { approver: "people", ...options, agents: [asker] }, async (runtime) =>
        body(await runtime.start(asker, JSON.stringify(questions))),
      ),
  };
}

/** Section 7.6: questions of agents to people. */
export const questionCases: readonly EngineCase[] = [
  asking(
    "7.6 a question waits for its answer, which is the result, though the policy allows it",
    [day, form],
    async (run) => {
      const first = await asked(run);
      const [record] = await run.approvals();
      assert.deepEqual([record?.asks, record?.arguments], [true, day]);
      await run.edit(first, "Friday", { by: "ann" });
      await run.edit(await asked(run, 2), { city: "Rome" }, { by: "ann" });
      const output = [JSON.stringify({ got: "Friday" }), JSON.stringify({ got: { city: "Rome" } })];
      assert.deepEqual((await run.result()).output, output);
      const events = await historyOf(run);
      assert.deepEqual(
        only(events, "approval.requested").map(({ asks }) => asks),
        [true, true],
      );
      assert.equal(only(events, "tool.end").length, 2);
    },
  ),

  asking(
    "7.6 an answer that does not fit its question is refused, and the question stays",
    [day, form],
    async (run) => {
      const first = await asked(run);
      await assert.rejects(run.approve(first, { remember: true }), isRefused("no-answer"));
      for (const wrong of ["Sunday", "", 1, null, { day: "Friday" }])
        await assert.rejects(run.edit(first, wrong), isRefused("wrong-answer"));
      assert.equal((await run.approvals())[0]?.decision, null);
      await run.edit(first, "Monday");
      const second = await asked(run, 2);
      for (const wrong of [
        "Rome",
        {},
        { city: 1 },
        { city: "Rome", rooms: "two" },
        { city: "Rome", answer: "x" },
      ])
        await assert.rejects(run.edit(second, wrong), isRefused("wrong-answer"));
      await run.edit(second, { city: "Rome", rooms: 2 });
      await run.result();
    },
  ),

  asking("7.6 a question that is denied is not answered, and the reason is told", [day], async (run) => {
    await run.deny(await asked(run), { by: "ann", reason: "ask Bob" });
    assert.deepEqual((await run.result()).output, ["not answered: ann did not answer: ask Bob"]);
  }),

  asking(
    "7.6 a question that no one answers in time is told as such",
    [day],
    async (run) => assert.deepEqual((await run.result()).output, ["not answered: no answer came in time"]),
    { approvalExpiresS: 0.3 },
  ),

  ...answers(),
];

/** Code that answers instead of a person. Anything that does not fit is no answer. */
function answers(): readonly EngineCase[] {
  const none = "not answered: approver did not answer";
  const given: readonly (readonly [string, Approver, string])[] = [
    ["answers", () => ({ decision: "edited", arguments: "Friday" }), JSON.stringify({ got: "Friday" })],
    ["approves", () => ({ decision: "approved" }), none],
    ["gives another answer", () => ({ decision: "edited", arguments: "Sunday" }), none],
  ];
  return given.map(([what, approver, output]) =>
    asking(
      `7.5 a question to an approver that ${what}`,
      [day],
      async (run) => assert.deepEqual((await run.result()).output, [output]),
      { approver },
    ),
  );
}
