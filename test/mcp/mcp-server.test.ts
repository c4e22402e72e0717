import { Client, StreamableHTTPClientTransport, type CallToolResult } from "@modelcontextprotocol/client";
import { agent, createRuntime, tool, type Agent } from "reeve";
import { mcp, mcpServer, pinTools } from "reeve/mcp";
import { apiKeys, createApiKey, listen, type Scope } from "reeve/server";
import { call, manualModel, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const keyOf = (tenant: string, scopes: readonly Scope[], user?: string) =>
  createApiKey({ tenant, scopes, expiresAt: Date.now() + 3_600_000, ...(user && { user }) });

const run = keyOf("acme", ["run", "approve"]);
const plain = keyOf("acme", ["run"], "ada");
const other = keyOf("umbrella", ["run", "approve"]);
const reader = keyOf("acme", ["read"]);
const records = [run, plain, other, reader].map(({ record }) => record);

async function serve(agents: readonly Agent[], waitS?: number) {
  const runtime = createRuntime({ agents, approver: "human" });
  const mounts = [mcpServer({ agents, ...(waitS !== undefined && { waitS }) })];
  const listener = await listen({ runtime, port: 0, auth: apiKeys(records), mounts });
  return {
    runtime,
    url: `${listener.url}/mcp`,
    [Symbol.asyncDispose]: async () => {
      await listener[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

async function connect(url: string, key: string, mode: "auto" | "legacy" = "auto") {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

const structured = z.object({
  run: z.object({
    id: z.string(),
    status: z.string(),
    questions: z.array(z.object({ id: z.string(), tool: z.string() })).default([]),
  }),
});

const runIn = (result: CallToolResult) => structured.parse(result.structuredContent).run;

test.for(["auto", "legacy"] as const)("an agent is a tool for a client in mode %s", async (mode) => {
  const greeter = agent({
    name: "greeter",
    description: "Greets.",
    model: scriptedModel([say("hello Ada")]),
  });
  await using server = await serve([greeter]);
  await using client = await connect(server.url, run.key, mode);
  expect(client.getNegotiatedProtocolVersion()).toBe(mode === "auto" ? "2026-07-28" : "2025-11-25");
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["greeter", "get_run", "cancel_run", "answer_run"]);
  expect(tools[0]).toMatchObject({ description: "Greets.", inputSchema: { required: ["task"] } });
  const result = await client.callTool({ name: "greeter", arguments: { task: "greet Ada" } });
  expect(textOf(result)).toBe("hello Ada");
  expect(runIn(result).status).toBe("completed");
  const wrong = client.callTool({ name: "greeter", arguments: { task: 7 } });
  expect(await wrong).toMatchObject({ isError: true });
});

test("the output of an agent is structured content, by its schema", async () => {
  const output = z.object({ city: z.string(), people: z.number() });
  const model = scriptedModel([say('{"city":"Bern","people":134000}')]);
  const counter = agent({ name: "counter", model, output });
  await using server = await serve([counter]);
  await using client = await connect(server.url, run.key);
  const [listed] = (await client.listTools()).tools;
  expect(listed?.outputSchema).toMatchObject({ properties: { city: { type: "string" } } });
  const result = await client.callTool({ name: "counter", arguments: { task: "count" } });
  expect(result.structuredContent).toMatchObject({ city: "Bern", people: 134_000 });
});

test("a long run answers with its id, outlives the connection, and is found again", async () => {
  const model = manualModel();
  const slow = agent({ name: "slow", model });
  await using server = await serve([slow], 0.05);
  const id = await (async () => {
    await using client = await connect(server.url, run.key);
    return runIn(await client.callTool({ name: "slow", arguments: { task: "think" } })).id;
  })();
  await using client = await connect(server.url, run.key, "legacy");
  await using stranger = await connect(server.url, other.key);
  await using user = await connect(server.url, plain.key);
  const seen = await client.callTool({ name: "get_run", arguments: { id } });
  expect(runIn(seen)).toMatchObject({ id, status: "running" });
  for (const outsider of [stranger, user]) {
    const hidden = await outsider.callTool({ name: "get_run", arguments: { id } });
    expect([hidden.isError, textOf(hidden)]).toEqual([true, expect.stringMatching(/^no run /)]);
    expect((await outsider.callTool({ name: "cancel_run", arguments: { id } })).isError).toBe(true);
  }
  const cancelled = await client.callTool({ name: "cancel_run", arguments: { id } });
  expect(textOf(cancelled)).toContain("cancelled");
  expect((await client.callTool({ name: "get_run", arguments: { id: "../etc" } })).isError).toBe(true);
});

test("a client with an approving key answers a run's question", async () => {
  const mailed: unknown[] = [];
  const mail = tool({
    name: "mail",
    description: "Mails.",
    input: z.object({ to: z.string() }),
    risk: "high",
    execute: (input) => void mailed.push(input),
  });
  const model = scriptedModel([call("mail", { to: "ann" }), say("mailed")]);
  const writer = agent({ name: "writer", model, tools: [mail] });
  await using server = await serve([writer]);
  await using client = await connect(server.url, run.key);
  await using weak = await connect(server.url, plain.key);
  expect((await weak.listTools()).tools.map(({ name }) => name)).not.toContain("answer_run");
  const asked = runIn(await client.callTool({ name: "writer", arguments: { task: "mail ann" } }));
  expect(asked.questions).toMatchObject([{ tool: "mail" }]);
  const answer = {
    id: asked.id,
    approval: asked.questions[0]?.id,
    decision: "edited",
    arguments: { to: "bob" },
  };
  const done = await client.callTool({ name: "answer_run", arguments: answer });
  expect(textOf(done)).toBe("mailed");
  expect(mailed).toEqual([{ to: "bob" }]);
});

test.for([
  ["no key", "", 401],
  ["a key without the scope run", reader.key, 403],
] as const)("%s is refused by the gate", async ([, key, status]) => {
  const greeter = agent({ name: "greeter", model: scriptedModel([say("hello")]) });
  await using server = await serve([greeter]);
  const response = await fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: "{}",
  });
  expect(response.status).toBe(status);
});

test("an agent of one program uses an agent of another one by MCP", async () => {
  const greeter = agent({ name: "greeter", model: scriptedModel([say("hello Ada")]) });
  await using server = await serve([greeter]);
  const address = {
    name: "far",
    url: server.url,
    headers: { authorization: `Bearer ${run.key}` },
    allowHosts: ["127.0.0.1"],
  };
  const model = scriptedModel([call("far_greeter", { task: "greet" }), say("done")]);
  await using far = mcp({ ...address, pins: await pinTools(address) });
  const lead = agent({ name: "lead", model, extensions: [far], permissions: "allow-all" });
  await using runtime = createRuntime({ agents: [lead] });
  expect(await (await runtime.start(lead, "go")).result()).toMatchObject({ status: "completed" });
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("hello Ada");
});
