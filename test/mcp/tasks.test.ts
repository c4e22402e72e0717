import { agent, createRuntime, type RunHandle } from "reeve";
import { mcp, pinTools, type McpOptions } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test, vi } from "vitest";
import { serveTasks, type TaskServer } from "./fixtures/task-server.ts";
import { patienceMs } from "../effort.ts";

const waitUntil = <T>(found: () => T | Promise<T>) =>
  vi.waitUntil(found, { timeout: patienceMs(), interval: 5 });

/** Makes an agent research with a tool that runs as a task. Returns its status, and the model's prompt. */
async function research(
  server: TaskServer,
  move: (run: RunHandle) => Promise<unknown>,
  options: Partial<McpOptions> = {},
): Promise<readonly [string, string]> {
  const address = { name: "lab", url: server.url, allowHosts: ["127.0.0.1"] };
  await using lab = mcp({
    ...address,
    pins: await pinTools(address),
    tools: { research: { risk: "safe" } },
    ...options,
  });
  const model = scriptedModel([call("lab_research", { topic: "pumps" }), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [lab] });
  await using runtime = createRuntime({ agents: [writer], approver: "human" });
  const run = await runtime.start(writer, "go");
  await move(run);
  const { status } = await run.result();
  const blocks = model.requests.at(-1)?.messages.flatMap(({ content }) => content) ?? [];
  const result = blocks.find((block) => block.type === "tool-result");
  return [status, result?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? ""];
}

const report = { content: [{ type: "text", text: "three pumps" }] };

test("a call that runs as a task is followed to its result, and made once", async () => {
  await using server = await serveTasks();
  const [status, text] = await research(server, async (run) => {
    await waitUntil(() => server.polls > 1);
    expect(await run.status()).not.toBe("completed");
    server.tasks.set("task-1", { status: "completed", result: report });
  });
  expect([status, text]).toEqual(["completed", "three pumps"]);
  expect(server.calls).toEqual([{ topic: "pumps" }]);
});

test.for([
  ["failed", "no pumps"],
  ["cancelled", "the server has cancelled research"],
] as const)("a task that ends as %s is an error result", async ([ended, expected]) => {
  await using server = await serveTasks();
  const [status, text] = await research(server, async () => {
    await waitUntil(() => server.polls > 0);
    server.tasks.set("task-1", { status: ended, error: { code: -32_603, message: "no pumps" } });
  });
  expect(status).toBe("completed");
  expect(text).toContain(expected);
});

test("a cancel of the run cancels the task while the run waits", async () => {
  await using server = await serveTasks();
  const [status] = await research(server, async (run) => {
    await waitUntil(() => server.polls > 0);
    await run.cancel();
  });
  expect(status).toBe("cancelled");
  await waitUntil(() => server.tasks.get("task-1")?.status === "cancelled");
});

test("a cancel of the run cancels the task while the server is asked", async () => {
  await using server = await serveTasks();
  const held = Promise.withResolvers<void>();
  server.hold = held.promise;
  const [status] = await research(server, async (run) => {
    await waitUntil(() => server.polls > 0);
    await run.cancel();
  });
  expect(status).toBe("cancelled");
  await waitUntil(() => server.tasks.get("task-1")?.status === "cancelled");
  held.resolve();
});

test("a task's question is asked as an approval, and its answer goes to the task", async () => {
  await using server = await serveTasks();
  const [, text] = await research(
    server,
    async (run) => {
      await waitUntil(() => server.tasks.size > 0);
      const params = {
        message: "Which pumps?",
        requestedSchema: { type: "object", properties: { kind: { type: "string" } } },
      };
      const inputRequests = { which: { method: "elicitation/create", params } };
      server.tasks.set("task-1", { status: "input_required", inputRequests });
      const question = await waitUntil(async () => (await run.approvals())[0]);
      expect(question).toMatchObject({ tool: "lab_research", asks: true });
      await run.edit(question?.id ?? "", { kind: "wind" });
      await waitUntil(() => server.updates.length > 0);
      server.tasks.set("task-1", { status: "completed", result: report });
    },
    { elicitation: "ask" },
  );
  expect(server.updates).toEqual([{ which: { action: "accept", content: { kind: "wind" } } }]);
  expect(text).toBe("three pumps");
});

test("a server that is away for a while is asked again, and the call is not made again", async () => {
  await using server = await serveTasks();
  const [, text] = await research(server, async () => {
    await waitUntil(() => server.polls > 0);
    server.isDown = true;
    server.tasks.set("task-1", { status: "completed", result: report });
    await waitUntil(() => server.refused > 0);
    server.isDown = false;
  });
  expect(text).toBe("three pumps");
  expect(server.calls).toHaveLength(1);
});

test("a task that the server has forgotten is an error result", async () => {
  await using server = await serveTasks();
  const [status, text] = await research(server, async () => {
    await waitUntil(() => server.polls > 0);
    server.tasks.clear();
  });
  expect([status, text]).toEqual(["completed", expect.stringContaining("no such task")]);
});

test("a task of revision 2025-11-25 is followed to its result: the reference server's", async () => {
  const program = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
  const address = { name: "all", command: process.execPath, args: [program, "stdio"] };
  await using all = mcp({
    ...address,
    pins: await pinTools(address),
    tools: { "simulate-research-query": { risk: "safe" } },
  });
  const model = scriptedModel([call("all_simulate-research-query", { topic: "pumps" }), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [all] });
  await using runtime = createRuntime({ agents: [writer] });
  expect(await (await runtime.start(writer, "go")).result()).toMatchObject({ status: "completed" });
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("# Research Report: pumps");
});
