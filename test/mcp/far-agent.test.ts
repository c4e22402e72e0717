import { agent, createRuntime, type RunHandle } from "reeve";
import { mcp, pinTools, type McpOptions } from "reeve/mcp";
import { call, manualModel, say, scriptedModel } from "reeve/testing";
import { expect, test, vi } from "vitest";
import { root, emailWriter, serve } from "./fixtures/agent-server.ts";
import { patienceMs } from "../effort.ts";

const waitUntil = <T>(found: () => T | Promise<T>) =>
  vi.waitUntil(found, { timeout: patienceMs(), interval: 5 });

/** Makes an agent of another program call the agent `name` of a server, with our own client. */
async function callFrom(
  url: string,
  name: string,
  { move, ...options }: Partial<McpOptions> & { readonly move: (run: RunHandle) => Promise<unknown> },
): Promise<readonly [string, string]> {
  const headers = { authorization: `Bearer ${root.key}` };
  const address = { name: "far", url, headers, allowHosts: ["127.0.0.1"] };
  const pins = await pinTools(address);
  await using far = mcp({ ...address, pins, tools: { [name]: { risk: "safe" } }, ...options });
  const model = scriptedModel([call(`far_${name}`, { task: "go" }), say("done")]);
  const lead = agent({ name: "lead", model, extensions: [far] });
  await using runtime = createRuntime({ agents: [lead], approver: "human" });
  const run = await runtime.start(lead, "go");
  await move(run);
  const { status } = await run.result();
  return [status, JSON.stringify(model.requests.at(-1)?.messages)];
}

/** Waits for the one tree of a server. */
const waitForOnlyTree = (runtime: ReturnType<typeof createRuntime>) =>
  waitUntil(async () => {
    const { items } = await runtime.runs.list({ tenant: "acme" });
    return items[0] && runtime.run(items[0].treeId, { tenant: "acme" });
  });

test("an agent of one program follows the task of an agent of another one to its result", async () => {
  const model = manualModel();
  await using server = await serve([agent({ name: "slow", model })]);
  const [status, shown] = await callFrom(server.url, "slow", {
    move: async (run) => {
      await waitUntil(() => model.calls.length > 0);
      await waitUntil(async () => (await run.status()) === "waiting");
      model.calls[0]?.answer("three pumps");
    },
  });
  expect(status).toBe("completed");
  expect(shown).toContain("three pumps");
  expect(model.calls).toHaveLength(1);
});

test("a question of a far agent is asked where the call was made, and its answer decides there", async () => {
  await using server = await serve([emailWriter()]);
  const [status, shown] = await callFrom(server.url, "writer", {
    elicitation: "ask",
    move: async (run) => {
      const question = await waitUntil(async () => (await run.approvals())[0]);
      expect(question).toMatchObject({ tool: "far_writer", asks: true });
      await run.edit(question?.id ?? "", { decision: "approved" });
    },
  });
  expect(status).toBe("completed");
  expect(shown).toContain("sent");
  const [decided] = (await (await waitForOnlyTree(server.runtime))?.approvals()) ?? [];
  expect(decided?.decision).toMatchObject({
    decision: "approved",
    by: expect.stringContaining(root.record.id),
  });
});

test("a cancel of the caller's run cancels the far tree", async () => {
  const model = manualModel();
  await using server = await serve([agent({ name: "slow", model })]);
  const [status] = await callFrom(server.url, "slow", {
    move: async (run) => {
      await waitUntil(() => model.calls.length > 0);
      await waitUntil(async () => (await run.status()) === "waiting");
      await run.cancel();
    },
  });
  expect(status).toBe("cancelled");
  const tree = await waitForOnlyTree(server.runtime);
  expect(await tree?.result()).toMatchObject({ status: "cancelled" });
});
