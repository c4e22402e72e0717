import assert from "node:assert/strict";
import {
  Json,
  ToolResult,
  type Agent,
  type Approver,
  type EffectTool,
  type HumanQuestion,
  type ResumedCall,
} from "#kernel";
import type { RunHandle, RuntimeOptions } from "#runtime";
import { effect } from "./effect.ts";
import { waitForQuestions, isRefused } from "./approvals.ts";
import { agentOf, type EngineCase, onRuntime } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** Creates an agent whose tool asks every question it is given, and returns the tool's input. */
function createAsker(rest: Partial<EffectTool<Json>> = {}): Agent {
  const ask: EffectTool<Json> = {
    ...effect("ask", async () => null),
    execute: (input, { resumed }) =>
      resumed ? resumed : ToolResult.ask(Json.as<HumanQuestion>(input), { page: 2 }),
    ...rest,
  };
  return agentOf("asker", askEach, { tools: [ask] });
}

const askEach: Agent["run"] = async (ctx, inbox) => {
  for await (const { text } of inbox) {
    const results: Json[] = [];
    for (const question of Json.as<readonly Json[]>(JSON.parse(text))) {
      const { value, content } = await ctx.tool("ask", question);
      const [first] = content;
      results.push(value ?? (first?.type === "text" ? first.text : null));
    }
    return results;
  }
  return null;
};

const day = { question: "On which day?", choices: ["Monday", "Friday"] };
const form = {
  question: "Where to?",
  fields: [
    { name: "city", type: "text" },
    { name: "rooms", type: "integer", optional: true, max: 9 },
    { name: "extras", type: "list", choices: ["bath", "view"], optional: true },
  ],
};

const answeredCall = (content: Json): ResumedCall => ({
  state: { page: 2 },
  answer: { decision: "answered", content },
});

const declinedCall = (decision: "declined" | "expired", reason: string): ResumedCall => ({
  state: { page: 2 },
  answer: { decision, reason },
});

interface Options extends Pick<RuntimeOptions, "approvalExpiresS"> {
  /** Default: `people`. */
  readonly approver?: "human" | "none" | Approver;
  readonly tool?: Partial<EffectTool<Json>>;
}

function questionCase(
  name: string,
  questions: readonly Json[],
  body: (run: RunHandle) => Promise<void>,
  { tool, approver = "human", ...options }: Options = {},
): EngineCase {
  const asker = createAsker(tool);
  const given = { ...options, ...(approver !== "none" && { approver }), agents: [asker] };
  return {
    name,
    run: (harness) =>
      onRuntime(harness, given, async (runtime) =>
        body(await runtime.start(asker, JSON.stringify(questions))),
      ),
  };
}

const outputOf = async (run: RunHandle): Promise<Json> => (await run.result()).output ?? null;

/** Section 7.6: questions of tools to users. */
export const questionCases: readonly EngineCase[] = [
  questionCase(
    "7.6 a tool asks a person, and is executed again with its state and the answer",
    [day, form],
    async (run) => {
      const first = await waitForQuestions(run);
      const [record] = await run.approvals();
      assert.deepEqual([record?.asks, record?.arguments], [true, day]);
      await run.edit(first, "Friday", { by: "ann", hash: record?.hash });
      await run.edit(await waitForQuestions(run, 2), { city: "Rome" }, { by: "ann" });
      assert.deepEqual(await outputOf(run), [answeredCall("Friday"), answeredCall({ city: "Rome" })]);
      const events = await historyOf(run);
      assert.deepEqual(
        only(events, "approval.requested").map(({ asks }) => asks),
        [true, true],
      );
      assert.equal(only(events, "tool.end").length, 2);
    },
  ),

  questionCase(
    "7.6 an answer that does not fit its question is refused, and the question stays",
    [day, form],
    async (run) => {
      const first = await waitForQuestions(run);
      await assert.rejects(run.approve(first, { remember: true }), isRefused("no-answer"));
      for (const wrong of ["Sunday", "", 1, null, { day: "Friday" }])
        await assert.rejects(run.edit(first, wrong), isRefused("wrong-answer"));
      assert.equal((await run.approvals())[0]?.decision, null);
      await run.edit(first, "Monday");
      const second = await waitForQuestions(run, 2);
      for (const wrong of [
        "Rome",
        {},
        { city: 1 },
        { city: "Rome", rooms: 1.5 },
        { city: "Rome", rooms: 10 },
        { city: "Rome", extras: ["view", "view"] },
        { city: "Rome", answer: "x" },
      ])
        await assert.rejects(run.edit(second, wrong), isRefused("wrong-answer"));
      await run.edit(second, { city: "Rome", rooms: 2, extras: ["view"] });
      await run.result();
    },
  ),

  questionCase("7.6 a question is answered once, and only as it was shown", [day, form], async (run) => {
    const first = await waitForQuestions(run);
    const [{ hash } = { hash: "" }] = await run.approvals();
    await assert.rejects(run.edit(first, "Friday", { hash: "0" }), isRefused("other-arguments"));
    await run.edit(first, "Friday", { hash });
    await assert.rejects(run.edit(first, "Monday", { hash }), isRefused("decided"));
    const second = await waitForQuestions(run, 2);
    await assert.rejects(run.edit(second, { city: "Rome" }, { hash }), isRefused("other-arguments"));
    await run.edit(second, { city: "Rome" });
    assert.deepEqual(await outputOf(run), [answeredCall("Friday"), answeredCall({ city: "Rome" })]);
  }),

  questionCase("7.6 a denied question is declined, and the tool gets the reason", [day], async (run) => {
    await run.deny(await waitForQuestions(run), { by: "ann", reason: "ask Bob" });
    assert.deepEqual(await outputOf(run), [declinedCall("declined", "ann did not answer: ask Bob")]);
  }),

  questionCase(
    "7.6 a question without an answer in time expires",
    [day],
    async (run) => assert.deepEqual(await outputOf(run), [declinedCall("expired", "no answer in time")]),
    { approvalExpiresS: 0.3 },
  ),

  ...questionsWithoutPeople(),

  questionCase(
    "7.6 a remembered approval of a tool does not answer its questions",
    [day],
    async (run) => {
      await run.approve(await waitForQuestions(run), { remember: true });
      await run.edit(await waitForQuestions(run, 2), "Friday");
      assert.deepEqual(await outputOf(run), [answeredCall("Friday")]);
    },
    { tool: { risk: "high" } },
  ),

  questionCase(
    "7.6 a question that no answer could fit is an error of the tool",
    [{ question: "?", choices: [] }],
    async (run) =>
      assert.match(
        JSON.stringify(await outputOf(run)),
        /^\["ask returned an invalid question: choices must be/,
      ),
  ),
];

/** Questions with no user, or answered by code: an answer that does not fit is refused. */
function questionsWithoutPeople(): readonly EngineCase[] {
  const none = declinedCall("declined", "approver did not answer");
  const code = ([what, approver, result]: readonly [string, Approver, ResumedCall]): EngineCase =>
    questionCase(
      `7.5 a question to an approver that ${what}`,
      [day],
      async (run) => assert.deepEqual(await outputOf(run), [result]),
      { approver },
    );
  return [
    code(["answers", () => ({ decision: "edited", arguments: "Friday" }), answeredCall("Friday")]),
    code(["approves", () => ({ decision: "approved" }), none]),
    code(["gives another answer", () => ({ decision: "edited", arguments: "Sunday" }), none]),
    questionCase(
      "7.6 a question is declined where no person can be asked",
      [day],
      async (run) => {
        const [result] = Json.as<readonly ResumedCall[]>(await outputOf(run));
        assert.equal(result?.answer?.decision, "declined");
        assert.deepEqual(await run.approvals(), []);
      },
      { approver: "none" },
    ),
    questionCase(
      "7.6 a tool that asks without end is refused",
      [day],
      async (run) => assert.deepEqual(await outputOf(run), ["ask asked 20 questions: no more are allowed"]),
      { approver: "none", tool: { execute: () => ToolResult.ask(day) } },
    ),
  ];
}
