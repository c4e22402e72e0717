import assert from "node:assert/strict";
import { type Agent, ApprovalRefusedError, type Approver, Json, type Tool, type ToolResult } from "#kernel";
import type { RunHandle, Runtime, RuntimeOptions } from "#runtime";
import { memoryStore } from "#stores/memory";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, eventually, onRuntime, type SuiteHarness } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";

/** Creates an agent that sends the mail it is asked to send, and returns the outcome. */
function createMailAgents(rest: Partial<Agent> = {}): { readonly mailed: Json[]; readonly editor: Agent } {
  const mailed: Json[] = [];
  const mail: Tool = {
    ...effect("mail", async (input) => {
      mailed.push(input);
      return "sent";
    }),
    risk: "high",
  };
  const editor = agentOf(
    "editor",
    async (ctx, inbox) => {
      const results: ToolResult[] = [];
      for await (const { text } of inbox) {
        for (const to of text.split(" ")) results.push(await ctx.tool("mail", { to }));
        return results.map(({ content: [first] }) => (first?.type === "text" ? first.text : ""));
      }
      return null;
    },
    { tools: [mail], ...rest },
  );
  return { mailed, editor };
}

interface Desk extends ReturnType<typeof createMailAgents> {
  readonly runtime: Runtime;
}

function approvalCase(
  name: string,
  body: (desk: Desk) => Promise<void>,
  options: Omit<RuntimeOptions, "agents" | "engine"> = {},
): EngineCase {
  const run = async (harness: SuiteHarness): Promise<void> => {
    const made = createMailAgents();
    const given = { approver: "human", ...options, agents: [made.editor] } as const;
    await onRuntime(harness, given, (runtime) => body({ ...made, runtime }));
  };
  return { name, run };
}

/** Waits until a run has asked so many questions, and returns the id of the last one. */
export const waitForQuestions = async (run: RunHandle, number = 1): Promise<string> => {
  await eventually("it asks", async () => (await run.approvals()).length >= number);
  await reaches(run, "waiting");
  return (await run.approvals())[number - 1]?.id ?? "";
};

/** Returns a predicate: whether an error is a refused decision with this reason. */
export const isRefused =
  (reason: ApprovalRefusedError["reason"]) =>
  (error: unknown): boolean =>
    error instanceof ApprovalRefusedError && error.reason === reason;

/** Section 7.5 and 7.6: authority to decide about a call, and the effect of a decision. */
export const approvalCases: readonly EngineCase[] = [
  approvalCase(
    "7.6 a call waits for approval, and is made with exactly the approved arguments",
    async (desk) => {
      const run = await desk.runtime.start(desk.editor, "ann");
      const id = await waitForQuestions(run);
      const [question] = await run.approvals();
      assert.equal(question?.tool, "mail");
      assert.deepEqual(question?.arguments, { to: "ann" });
      assert.equal(question?.agentId, "editor");
      assert.deepEqual(desk.mailed, []);
      await run.approve(id, { by: "lead", ...(question && { hash: question.hash }) });
      assert.deepEqual((await run.result()).output, ["sent"]);
      assert.deepEqual(desk.mailed, [{ to: "ann" }]);
      const events = await historyOf(run);
      assert.deepEqual(only(events, "approval.requested").length, 1);
      assert.deepEqual(
        only(events, "approval.decided").map(({ decision, by }) => [decision, by]),
        [["approved", "lead"]],
      );
      assert.equal(only(events, "tool.start").length, 1);
    },
  ),

  approvalCase("7.6 a denied tool is not called, and the model gets the reason", async (desk) => {
    const run = await desk.runtime.start(desk.editor, "ann");
    await run.deny(await waitForQuestions(run), { by: "lead", reason: "not today" });
    assert.deepEqual((await run.result()).output, ["not called: lead denied it: not today"]);
    assert.deepEqual(desk.mailed, []);
  }),

  approvalCase("7.6 edited arguments are checked again and executed instead", async (desk) => {
    const run = await desk.runtime.start(desk.editor, "ann");
    await run.edit(await waitForQuestions(run), { to: "bob" });
    assert.deepEqual((await run.result()).output, ["sent"]);
    assert.deepEqual(desk.mailed, [{ to: "bob" }]);
  }),

  approvalCase(
    "7.6 an approval is remembered for the tool and the run, if the approver asks for it",
    async (desk) => {
      const run = await desk.runtime.start(desk.editor, "ann bob");
      await run.approve(await waitForQuestions(run), { remember: true });
      assert.deepEqual((await run.result()).output, ["sent", "sent"]);
      const other = await desk.runtime.start(desk.editor, "eve");
      await other.deny(await waitForQuestions(other));
      assert.deepEqual(desk.mailed, [{ to: "ann" }, { to: "bob" }]);
    },
  ),

  approvalCase("7.6 one approval allows one call", async (desk) => {
    const run = await desk.runtime.start(desk.editor, "ann ann");
    const first = await waitForQuestions(run);
    await run.approve(first);
    const second = await waitForQuestions(run, 2);
    assert.notEqual(first, second);
    await assert.rejects(run.approve(first), isRefused("decided"));
    await run.deny(second);
    assert.deepEqual(desk.mailed, [{ to: "ann" }]);
  }),

  approvalCase(
    "7.6 a decision on other arguments, on another run or tenant, or after a cancel does not count",
    async (desk) => {
      const run = await desk.runtime.start(desk.editor, "ann");
      const id = await waitForQuestions(run);
      await assert.rejects(run.approve(id, { hash: "other" }), isRefused("other-arguments"));
      const other = await desk.runtime.start(desk.editor, "eve");
      await waitForQuestions(other);
      const swapped = id.replace(run.treeId, other.treeId).replace(/:\d+$/, ":99");
      await assert.rejects(other.approve(swapped), { code: "not-found" });
      const approved = { decision: "approved", by: "lead" } as const;
      await assert.rejects(desk.runtime.approvals.decide(id, approved, { tenant: "acme" }), {
        code: "not-found",
      });
      await run.cancel();
      await assert.rejects(
        run.approve(id),
        (error) => isRefused("run-ended")(error) || isRefused("decided")(error),
      );
      await other.cancel();
      assert.deepEqual(desk.mailed, []);
    },
  ),

  approvalCase(
    "7.6 a question without an answer in time is denied",
    async (desk) => {
      const run = await desk.runtime.start(desk.editor, "ann");
      assert.deepEqual((await run.result()).output, ["not called: no approval in time"]);
      const { approvalId } = await waitForEvent(run, "approval.requested");
      await assert.rejects(run.approve(approvalId), ApprovalRefusedError);
      assert.deepEqual(desk.mailed, []);
    },
    { approvalExpiresS: 0.3 },
  ),

  approvalCase(
    "7.6 questions of all trees are listed, and can be decided from any process",
    async ({ runtime, editor, mailed }) => {
      const run = await runtime.start(editor, "ann", { tenant: "acme" });
      const list = () => runtime.approvals.list({ tenant: "acme", state: "pending" });
      await eventually("it is listed", async () => (await list()).items.length === 1);
      const [question] = (await list()).items;
      assert.deepEqual(question?.arguments, { to: "ann" });
      assert.deepEqual((await runtime.approvals.list()).items, []);
      const answer = { decision: "approved", by: "lead", hash: question?.hash } as const;
      await runtime.approvals.decide(question?.id ?? "", answer, { tenant: "acme" });
      await run.result();
      assert.deepEqual(mailed, [{ to: "ann" }]);
      await eventually("it is decided", async () => (await list()).items.length === 0);
      const { items } = await runtime.approvals.list({ tenant: "acme", state: "decided" });
      assert.equal(items[0]?.decision?.by, "lead");
    },
    { store: memoryStore() },
  ),

  ...approvers(),
  ...inheritedRuleCases(),
];

/** Code that decides: anything but a clear yes is a no. */
function approvers(): readonly EngineCase[] {
  const no = "not called: approver denied it";
  const given: readonly (readonly [string, Approver, string])[] = [
    ["approves", async ({ tool }) => ({ decision: tool === "mail" ? "approved" : "denied" }), "sent"],
    ["denies", () => ({ decision: "denied" }), no],
    ["throws", () => Promise.reject(new Error("who am I?")), no],
    ["says something else", () => Json.as<{ decision: "approved" }>({ decision: "maybe" }), no],
    ["says nothing", () => Json.as<{ decision: "approved" }>(null), no],
  ];
  return given.map(([what, approver, output]) =>
    approvalCase(
      `7.5 an approver that ${what}`,
      async ({ runtime, editor }) => {
        const run = await runtime.start(editor, "ann");
        assert.deepEqual((await run.result()).output, [output]);
        assert.equal(only(await historyOf(run), "approval.decided").length, 1);
      },
      { approver },
    ),
  );
}

/** Spawns an agent that must not send mail to Eve. */
const root = (editor: Agent): Agent =>
  agentOf("lead", async (ctx) => {
    const rule = { tool: "mail", verdict: "deny", arguments: [{ path: "to", equals: "eve" }] } as const;
    const writer = await ctx.spawn(editor, "eve ann", { permissions: [rule] });
    return (await ctx.join(writer)).output;
  });

/** An ancestor can only add restrictions. */
function inheritedRuleCases(): readonly EngineCase[] {
  return [
    {
      name: "7.5 a child may not do anything its parent forbids, whatever its own policy allows",
      run: async (harness) => {
        const { editor, mailed } = createMailAgents({ policy: { permissions: { decide: () => "allow" } } });
        const lead = root(editor);
        await onRuntime(harness, { agents: [lead, editor] }, async (runtime) => {
          const run = await runtime.start(lead, "go");
          const [first, second] = Json.as<readonly string[]>((await run.result()).output);
          assert.match(first ?? "", /the policy denies it/);
          assert.equal(second, "sent");
          assert.deepEqual(mailed, [{ to: "ann" }]);
          const [denied] = only(await historyOf(run), "permission.denied");
          assert.equal(denied?.tool, "mail");
        });
      },
    },
    {
      name: "7.5 without an approver a call that needs approval is refused, with the line that would allow it",
      run: async (harness) => {
        const { editor, mailed } = createMailAgents();
        await onRuntime(harness, { agents: [editor] }, async (runtime) => {
          const run = await runtime.start(editor, "ann");
          const [text] = Json.as<readonly string[]>((await run.result()).output);
          assert.match(text ?? "", /permissions\(\[\{ tool: "mail", verdict: "allow" \}\]\)/);
          assert.deepEqual(mailed, []);
        });
      },
    },
  ];
}
