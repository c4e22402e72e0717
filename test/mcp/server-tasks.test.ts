import { agent, createRuntime, tool, type Agent, type RunHandle } from "reeve";
import { mcp, mcpServer, pinTools, type McpOptions } from "reeve/mcp";
import { apiKeys, createApiKey, listen, type Scope } from "reeve/server";
import { call, fail, heldModel, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";
import { expect, test, vi } from "vitest";
import { z } from "zod";

const until = <T>(found: () => T | Promise<T>) => vi.waitUntil(found, { timeout: 30_000, interval: 5 });

const keyOf = (tenant: string, scopes: readonly Scope[], user?: string) =>
  createApiKey({ tenant, scopes, expiresAt: Date.now() + 3_600_000, ...(user && { user }) });

const boss = keyOf("acme", ["run", "approve"]);
const ada = keyOf("acme", ["run"], "ada");
const bob = keyOf("acme", ["run", "approve"], "bob");
const other = keyOf("umbrella", ["run", "approve"]);
const reader = keyOf("acme", ["read", "approve"]);
const records = [boss, ada, bob, other, reader].map(({ record }) => record);

async function serve(offered: readonly Agent[], others: readonly Agent[] = []) {
  const runtime = createRuntime({ agents: [...offered, ...others], approver: "people" });
  const errors: unknown[] = [];
  const listener = await listen({
    runtime,
    port: 0,
    auth: apiKeys(records),
    mounts: [mcpServer({ agents: offered, waitS: 0.05 })],
    onError: (error) => void errors.push(error),
  });
  return {
    runtime,
    errors,
    url: `${listener.url}/mcp`,
    [Symbol.asyncDispose]: async () => {
      await listener[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

const extension = "io.modelcontextprotocol/tasks";
const tasks = { extensions: { [extension]: {} } };
const tasksAndForms = { ...tasks, elicitation: { form: {} } };

const reply = z.object({
  result: z.looseObject({}).optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});

/** Sends requests of revision 2026-07-28, as they are on the wire. */
function caller(url: string, { key }: { readonly key: string }, capabilities: object = tasks) {
  const send = async (method: string, params: Record<string, unknown>): Promise<Response> => {
    const name = params["name"] ?? params["taskId"];
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    };
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
    return fetch(url, { method: "POST", headers, body });
  };
  const ask = async (method: string, params: Record<string, unknown>) => {
    const text = await (await send(method, params)).text();
    const data = text.startsWith("{") ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
    return reply.parse(JSON.parse(data));
  };
  const begin = async (name: string) =>
    (await ask("tools/call", { name, arguments: { task: "go" } })).result ?? {};
  const beginTask = async (name: string) => z.string().parse((await begin(name))["taskId"]);
  const get = async (taskId: string) => (await ask("tasks/get", { taskId })).result ?? {};
  return { send, ask, begin, beginTask, get };
}

const seller = (): Agent =>
  agent({
    name: "seller",
    model: scriptedModel([call("sell", { what: "flour" }), say("sold")]),
    tools: [
      tool({
        name: "sell",
        description: "Sells.",
        input: z.object({ what: z.string() }),
        risk: "high",
        execute: async () => "done",
      }),
    ],
  });

test("a call that takes longer is a task, whose id is that of the tree, until it has the result", async () => {
  const model = heldModel();
  const output = z.object({ people: z.number() });
  await using server = await serve([agent({ name: "slow", model, output })]);
  const client = caller(server.url, boss);
  const created = await client.begin("slow");
  expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: null, pollIntervalMs: 500 });
  const id = z.string().parse(created["taskId"]);
  expect(await client.get(id)).toMatchObject({ resultType: "complete", taskId: id, status: "working" });
  model.calls[0]?.answer('{"people":134000}');
  await server.runtime.run(id, { tenant: "acme" }).result();
  const done = await client.get(id);
  expect(done).toMatchObject({
    status: "completed",
    createdAt: created["createdAt"],
    result: { structuredContent: { people: 134_000, run: { id, status: "completed" } } },
  });
  expect(Date.parse(z.string().parse(done["lastUpdatedAt"]))).toBeGreaterThan(0);
});

test("a client without the extension is told of the run, and asks after no task", async () => {
  await using server = await serve([agent({ name: "slow", model: heldModel() })]);
  const plain = caller(server.url, boss, {});
  const told = await plain.begin("slow");
  expect(told).toMatchObject({ resultType: "complete", structuredContent: { run: { status: "running" } } });
  const taskId = await caller(server.url, boss).beginTask("slow");
  for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
    expect((await plain.ask(method, { taskId, inputResponses: {} })).error?.code).toBe(-32_021);
});

test("a run that fails is a completed task with an error result", async () => {
  const model = heldModel();
  await using server = await serve([agent({ name: "slow", model })]);
  const client = caller(server.url, boss);
  const id = await client.beginTask("slow");
  model.calls[0]?.fail(new Error("no mills"));
  await server.runtime.run(id, { tenant: "acme" }).result();
  expect(await client.get(id)).toMatchObject({ status: "completed", result: { isError: true } });
});

test("a task is cancelled with its tree, and once more without an effect", async () => {
  await using server = await serve([agent({ name: "slow", model: heldModel() })]);
  const client = caller(server.url, boss);
  const taskId = await client.beginTask("slow");
  for (let round = 0; round < 2; round += 1)
    expect((await client.ask("tasks/cancel", { taskId })).result).toMatchObject({ resultType: "complete" });
  expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
  expect(await server.runtime.run(taskId, { tenant: "acme" }).status()).toBe("cancelled");
});

test("a task of another tenant, another user or another agent does not exist", async () => {
  const slow = agent({ name: "slow", model: heldModel() });
  const hidden = agent({ name: "hidden", model: heldModel() });
  await using server = await serve([slow], [hidden]);
  const mine = await caller(server.url, ada).beginTask("slow");
  const { treeId } = await server.runtime.start(hidden, "go", { tenant: "acme" });
  const unknown = { error: { code: -32_602, message: "there is no such task" } };
  const tries = [
    [other, mine],
    [bob, mine],
    [boss, treeId],
    [boss, "no-such-tree"],
    [boss, "../etc"],
  ] as const;
  for (const [key, taskId] of tries)
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
      expect(await caller(server.url, key).ask(method, { taskId, inputResponses: {} })).toEqual(unknown);
  expect(await caller(server.url, ada).get(mine)).toMatchObject({ status: "working" });
  expect((await caller(server.url, boss).get(mine))["status"]).toBe("working");
  expect((await caller(server.url, reader).send("tasks/get", { taskId: mine })).status).toBe(403);
});

test("a question is decided by a caller whose key may approve, once", async () => {
  await using server = await serve([seller()]);
  const client = caller(server.url, boss, tasksAndForms);
  const created = await client.begin("seller");
  expect(created).toMatchObject({ resultType: "task", status: "input_required" });
  expect(created).not.toHaveProperty("inputRequests");
  const taskId = z.string().parse(created["taskId"]);
  const { inputRequests } = await client.get(taskId);
  const [[key, request] = ["", null]] = Object.entries(
    z.record(z.string(), z.unknown()).parse(inputRequests),
  );
  expect(request).toMatchObject({
    method: "elicitation/create",
    params: {
      message: expect.stringContaining('{"what":"flour"}'),
      requestedSchema: { properties: { decision: { enum: ["approved", "denied"] } }, required: ["decision"] },
    },
  });
  const update = (response: object, as = client) =>
    as.ask("tasks/update", { taskId, inputResponses: { [key]: response } });
  const accept = { action: "accept", content: { decision: "approved" } };
  expect((await update({ action: "accept" })).error?.message).toContain("content.decision must be");
  expect((await update({ action: "cancel" })).result).toBeDefined();
  expect(await client.get(taskId)).toMatchObject({ status: "input_required" });
  expect((await update(accept)).result).toMatchObject({ resultType: "complete" });
  expect((await update({ action: "decline" })).result).toBeDefined();
  const { output } = await server.runtime.run(taskId, { tenant: "acme" }).result();
  expect(output).toBe("sold");
  expect(await client.get(taskId)).toMatchObject({ result: { content: [{ text: "sold" }] } });
});

test("a question that the caller may not or cannot answer is work that goes on", async () => {
  await using server = await serve([seller()]);
  const weak = caller(server.url, ada, tasksAndForms);
  const taskId = await weak.beginTask("seller");
  const waits = { status: "working", statusMessage: "the run waits for a person's decision" };
  expect(await weak.get(taskId)).toMatchObject(waits);
  expect(await caller(server.url, boss, tasks).get(taskId)).toMatchObject(waits);
  expect(await caller(server.url, boss, tasksAndForms).get(taskId)).toMatchObject({
    status: "input_required",
  });
  const [question] = await server.runtime.run(taskId, { tenant: "acme" }).approvals();
  const inputResponses = {
    [question?.id ?? ""]: { action: "accept", content: { decision: "approved" } },
  };
  const refused = await weak.ask("tasks/update", { taskId, inputResponses });
  expect(refused.error?.message).toContain("may not approve");
});

test("the questions of a tool are forms, and their answers reach it", async () => {
  const fields = [
    { name: "city", type: "text" },
    { name: "days", type: "integer", min: 1, max: 9, optional: true },
    { name: "meals", type: "list", choices: ["lunch", "dinner"] },
  ];
  const model = scriptedModel([
    call("ask_human", { question: "When?", choices: ["Monday", "Friday"] }),
    call("ask_human", { question: "Where?", fields }),
    say("planned"),
  ]);
  await using server = await serve([agent({ name: "planner", model, tools: [askHuman()] })]);
  const client = caller(server.url, boss, tasksAndForms);
  const taskId = await client.beginTask("planner");
  const form = z.record(z.string(), z.object({ params: z.unknown() }));
  const answer = async (content: object) => {
    const [[key, { params }] = ["", { params: null }]] = await until(async () => {
      const { inputRequests = {} } = await client.get(taskId);
      const open = Object.entries(form.parse(inputRequests));
      return open.length > 0 ? open : null;
    });
    const inputResponses = { [key]: { action: "accept", content } };
    expect((await client.ask("tasks/update", { taskId, inputResponses })).error).toBeUndefined();
    return params;
  };
  expect(await answer({ answer: "Friday" })).toMatchObject({
    message: "When?",
    requestedSchema: { properties: { answer: { enum: ["Monday", "Friday"] } } },
  });
  expect(await answer({ city: "Rome", meals: ["lunch"] })).toMatchObject({
    message: "Where?",
    requestedSchema: {
      properties: {
        city: { type: "string", minLength: 1 },
        days: { type: "integer", minimum: 1, maximum: 9 },
        meals: { type: "array", items: { enum: ["lunch", "dinner"] } },
      },
      required: ["city", "meals"],
    },
  });
  await server.runtime.run(taskId, { tenant: "acme" }).result();
  const shown = JSON.stringify(model.requests.at(-1)?.messages);
  expect(shown).toContain("Friday");
  expect(shown).toContain("Rome");
});

test("an error of the server is no answer: the request fails, and the client may ask again", async () => {
  await using server = await serve([agent({ name: "slow", model: heldModel() })]);
  const client = caller(server.url, boss);
  const taskId = await client.beginTask("slow");
  await server.runtime[Symbol.asyncDispose]();
  const response = await client.send("tasks/cancel", { taskId });
  expect(response.status).toBeGreaterThanOrEqual(500);
  expect(server.errors).toHaveLength(1);
});

/** Has an agent of another program call the agent `name` of a server, by our own client. */
async function callFrom(
  url: string,
  name: string,
  { move, ...options }: Partial<McpOptions> & { readonly move: (run: RunHandle) => Promise<unknown> },
): Promise<readonly [string, string]> {
  const headers = { authorization: `Bearer ${boss.key}` };
  const address = { name: "far", url, headers, allowHosts: ["127.0.0.1"] };
  const pins = await pinTools(address);
  await using far = mcp({ ...address, pins, tools: { [name]: { risk: "safe" } }, ...options });
  const model = scriptedModel([call(`far_${name}`, { task: "go" }), say("done")]);
  const lead = agent({ name: "lead", model, extensions: [far] });
  await using runtime = createRuntime({ agents: [lead], approver: "people" });
  const run = await runtime.start(lead, "go");
  await move(run);
  const { status } = await run.result();
  return [status, JSON.stringify(model.requests.at(-1)?.messages)];
}

/** Waits for the one tree of a server. */
const onlyTree = (runtime: ReturnType<typeof createRuntime>) =>
  until(async () => {
    const { items } = await runtime.runs.list({ tenant: "acme" });
    return items[0] && runtime.run(items[0].treeId, { tenant: "acme" });
  });

test("an agent of one program follows the task of an agent of another one to its result", async () => {
  const model = heldModel();
  await using server = await serve([agent({ name: "slow", model })]);
  const [status, shown] = await callFrom(server.url, "slow", {
    move: async (run) => {
      await until(() => model.calls.length > 0);
      await until(async () => (await run.status()) === "waiting");
      model.calls[0]?.answer("three mills");
    },
  });
  expect(status).toBe("completed");
  expect(shown).toContain("three mills");
  expect(model.calls).toHaveLength(1);
});

test("a question of a far agent is asked where the call was made, and its answer decides there", async () => {
  await using server = await serve([seller()]);
  const [status, shown] = await callFrom(server.url, "seller", {
    elicitation: "ask",
    move: async (run) => {
      const question = await until(async () => (await run.approvals())[0]);
      expect(question).toMatchObject({ tool: "far_seller", asks: true });
      await run.edit(question?.id ?? "", { decision: "approved" });
    },
  });
  expect(status).toBe("completed");
  expect(shown).toContain("sold");
  const [decided] = (await (await onlyTree(server.runtime))?.approvals()) ?? [];
  expect(decided?.decision).toMatchObject({
    decision: "approved",
    by: expect.stringContaining(boss.record.id),
  });
});

test("a cancel of the caller's run cancels the far tree", async () => {
  const model = heldModel();
  await using server = await serve([agent({ name: "slow", model })]);
  const [status] = await callFrom(server.url, "slow", {
    move: async (run) => {
      await until(() => model.calls.length > 0);
      await until(async () => (await run.status()) === "waiting");
      await run.cancel();
    },
  });
  expect(status).toBe("cancelled");
  const tree = await onlyTree(server.runtime);
  expect(await tree?.result()).toMatchObject({ status: "cancelled" });
});
