import { Role, TaskState, type Message, type Part, type SendMessageRequest, type Task } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import { a2aServer, type A2aServerOptions } from "reeve/a2a";
import { agent, createRuntime, tool, type Agent } from "reeve";
import { apiKeys, createApiKey, listen, type Scope } from "reeve/server";
import { call, manualModel, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "../free-port.ts";

const keyOf = (tenant: string, scopes: readonly Scope[], user?: string) =>
  createApiKey({ tenant, scopes, expiresAt: Date.now() + 3_600_000, ...(user && { user }) });

const run = keyOf("acme", ["run", "approve"]);
const ada = keyOf("acme", ["run"], "ada");
const bob = keyOf("acme", ["run"], "bob");
const other = keyOf("umbrella", ["run", "approve"]);
const reader = keyOf("acme", ["read"]);
const records = [run, ada, bob, other, reader].map(({ record }) => record);

async function serve(
  agents: readonly [Agent, ...Agent[]],
  { others = [], ...options }: Partial<A2aServerOptions> & { readonly others?: readonly Agent[] } = {},
) {
  const runtime = createRuntime({ agents: [...agents, ...others], approver: "human" });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const mounts = a2aServer({ agents, url, ...options });
  const listener = await listen({ runtime, port, auth: apiKeys(records), mounts });
  return {
    runtime,
    url,
    [Symbol.asyncDispose]: async () => {
      await listener[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

/** A client of the SDK with a key. */
function connect(url: string, key: string) {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  return factory.createFromUrl(url);
}

const part = (content: Part["content"]): Part => ({
  content,
  metadata: undefined,
  filename: "",
  mediaType: "",
});
const text = (value: string): Part => part({ $case: "text", value });
const data = (value: unknown): Part => part({ $case: "data", value });

function request(parts: Part[], rest: Partial<Message> = {}, returnImmediately = false): SendMessageRequest {
  const message: Message = {
    messageId: crypto.randomUUID(),
    contextId: "",
    taskId: "",
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...rest,
  };
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately };
  return { tenant: "", message, configuration, metadata: undefined };
}

const asTask = (result: Message | Task): Task => {
  if ("messageId" in result) throw new Error("not a task");
  return result;
};

const greeter = () =>
  agent({ name: "greeter", description: "Greets.", model: scriptedModel([say("hello Ada")]) });

const artifactValues = ({ artifacts }: Task) =>
  artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value));

test("a message starts a tree, and the tree's result is the artifact of its task", async () => {
  const counted = agent({
    name: "counter",
    model: scriptedModel([say('{"people":134000}')]),
    output: z.object({ people: z.number() }),
  });
  await using server = await serve([greeter(), counted]);
  const client = await connect(server.url, run.key);
  const task = asTask(await client.sendMessage(request([text("greet Ada")])));
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  expect(artifactValues(task)).toEqual(["hello Ada"]);
  expect((await server.runtime.run(task.id, { tenant: "acme" }).result()).output).toBe("hello Ada");
  const chosen = await client.sendMessage(request([text("Bern")], { metadata: { skill: "counter" } }));
  expect(artifactValues(asTask(chosen))).toEqual([{ people: 134_000 }]);
  await expect(
    client.sendMessage(request([text("Bern")], { metadata: { skill: "unknown" } })),
  ).rejects.toThrow("metadata.skill must be one of greeter, counter");
});

const cardOf = (url: string, key?: string) =>
  fetch(`${url}/.well-known/agent-card.json`, key ? { headers: { authorization: `Bearer ${key}` } } : {});

test("the card names the offered agents to callers that may run them, and to everyone only if published", async () => {
  await using server = await serve([greeter()]);
  expect((await cardOf(server.url)).status).toBe(401);
  expect((await cardOf(server.url, reader.key)).status).toBe(403);
  const card = await (await cardOf(server.url, run.key)).json();
  expect(card).toMatchObject({ skills: [{ id: "greeter", description: "Greets." }] });
  await using open = await serve([greeter()], { card: "public" });
  expect(await (await cardOf(open.url)).json()).toMatchObject({ skills: [{ id: "greeter" }] });
  expect((await fetch(`${open.url}/a2a`, { method: "POST" })).status).toBe(401);
});

test("a stream sends the task, its artifact and its end", async () => {
  await using server = await serve([greeter()]);
  const client = await connect(server.url, run.key);
  const cases: (string | undefined)[] = [];
  const states: (TaskState | undefined)[] = [];
  for await (const { payload } of client.sendMessageStream(request([text("greet Ada")]))) {
    cases.push(payload?.$case);
    if (payload?.$case === "statusUpdate") states.push(payload.value.status?.state);
  }
  expect(cases[0]).toBe("task");
  expect(cases.slice(-2)).toEqual(["artifactUpdate", "statusUpdate"]);
  expect(states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
});

test("a live task is read, subscribed to again and cancelled", async () => {
  const slow = agent({ name: "slow", model: manualModel() });
  await using server = await serve([slow]);
  const client = await connect(server.url, run.key);
  const { id } = asTask(await client.sendMessage(request([text("go")], {}, true)));
  const states: (TaskState | undefined)[] = [];
  const following = (async () => {
    for await (const { payload } of client.resubscribeTask({ tenant: "", id }))
      if (payload?.$case === "statusUpdate" || payload?.$case === "task")
        states.push(payload.value.status?.state);
  })();
  expect([TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_SUBMITTED]).toContain(
    (await client.getTask({ tenant: "", id })).status?.state,
  );
  const cancelled = await client.cancelTask({ tenant: "", id, metadata: undefined });
  expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  await following;
  expect(states.at(-1)).toBe(TaskState.TASK_STATE_CANCELED);
  await expect(client.cancelTask({ tenant: "", id, metadata: undefined })).rejects.toThrow("has ended");
});

const emailWriter = (): Agent =>
  agent({
    name: "writer",
    model: scriptedModel([call("send_email", { what: "paper" }), say("sent")]),
    tools: [
      tool({
        name: "send_email",
        description: "Sells.",
        input: z.object({ what: z.string() }),
        risk: "high",
        execute: async () => "done",
      }),
    ],
  });

test("a question makes the task input-required, and a message of a key that may approve answers it", async () => {
  await using server = await serve([emailWriter()]);
  const client = await connect(server.url, run.key);
  const asked = asTask(await client.sendMessage(request([text("send paper")])));
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  expect(asked.status?.message?.parts[0]?.content?.value).toMatchObject({
    tool: "send_email",
    wants: "decision",
  });
  const reply = { taskId: asked.id, contextId: asked.contextId };
  await expect(client.sendMessage(request([text("yes")], reply))).rejects.toThrow("requires a data part");
  const done = await client.sendMessage(request([data({ decision: "approved" })], reply));
  expect(asTask(done).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  expect(artifactValues(asTask(done))).toEqual(["sent"]);
  await expect(client.sendMessage(request([text("more")], reply))).rejects.toThrow("has no open question");
});

test("a question is not answered by a key that may not approve", async () => {
  await using server = await serve([emailWriter()]);
  const client = await connect(server.url, ada.key);
  const asked = asTask(await client.sendMessage(request([text("send paper")])));
  const reply = { taskId: asked.id };
  await expect(client.sendMessage(request([data({ decision: "approved" })], reply))).rejects.toThrow(
    "lacks the scope approve",
  );
});

test("a task of another tenant or another user does not exist", async () => {
  const slow = agent({ name: "slow", model: manualModel() });
  await using server = await serve([slow]);
  const mine = await connect(server.url, ada.key);
  const { id } = asTask(await mine.sendMessage(request([text("go")], {}, true)));
  const theirs = await Promise.all([other, bob].map(({ key }) => connect(server.url, key)));
  for (const client of theirs) {
    const tries = [
      () => client.getTask({ tenant: "", id }),
      () => client.cancelTask({ tenant: "", id, metadata: undefined }),
      () => client.sendMessage(request([text("hi")], { taskId: id })),
      () => client.resubscribeTask({ tenant: "", id }).next(),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toThrow("no such task");
  }
  await expect(mine.getTask({ tenant: "umbrella", id })).rejects.toThrow("the key determines it");
  await mine.cancelTask({ tenant: "", id, metadata: undefined });
});

test("a tree of an agent that is not offered does not exist", async () => {
  const hidden = agent({ name: "hidden", model: manualModel() });
  await using server = await serve([greeter()], { others: [hidden] });
  const { treeId: id } = await server.runtime.start(hidden, "go", { tenant: "acme" });
  const client = await connect(server.url, run.key);
  await expect(client.getTask({ tenant: "", id })).rejects.toThrow("no such task");
});

test("a client of protocol 0.3 is served under the method names of that protocol", async () => {
  await using server = await serve([greeter()]);
  const send = async (method: string, params: object, key = run.key) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return fetch(`${server.url}/a2a`, { method: "POST", headers, body });
  };
  const message = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };
  const sent: { readonly result?: { readonly id: string } } = JSON.parse(
    await (await send("message/send", { message })).text(),
  );
  expect(sent).toMatchObject({ result: { kind: "task", status: { state: "completed" } } });
  const found = await (await send("tasks/get", { id: sent.result?.id })).json();
  expect(found).toMatchObject({ result: { artifacts: [{ parts: [{ kind: "text", text: "hello Ada" }] }] } });
  expect((await send("message/send", { message }, reader.key)).status).toBe(403);
  const wrong = await (await send("tasks/pushNotificationConfig/set", {})).json();
  expect(wrong).toHaveProperty("error");
});
