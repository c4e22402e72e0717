import { agent, AgentId, createRuntime, tool, type Agent } from "reeve";
import { a2aServer } from "reeve/a2a";
import { mcpServer } from "reeve/mcp";
import { apiKeys, createApiKey, type Scope, type ServerMount } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { counter, inAYear, TestServer } from "./test-server.ts";

const keyOf = (user: string | null, ...scopes: readonly Scope[]) =>
  createApiKey({ tenant: "acme", scopes, expiresAt: inAYear, ...(user !== null && { user }) });

const made = {
  owner: keyOf(null, "read", "run", "content", "approve"),
  weak: keyOf(null, "read", "run"),
  runner: keyOf(null, "run"),
  approver: keyOf(null, "run", "approve"),
};
const auth = apiKeys(Object.values(made).map(({ record }) => record));

const canary = /CANARY-\w+/;
const teller = agent({ name: "teller", model: scriptedModel([say("CANARY-OUTPUT"), say("CANARY-OUTPUT")]) });
const payer = agent({
  name: "payer",
  model: scriptedModel([call("pay", { iban: "CANARY-ARGUMENT" }), say("paid")]),
  tools: [
    tool({
      name: "pay",
      description: "Pays.",
      input: z.object({ iban: z.string() }),
      risk: "critical",
      execute: async () => "paid",
    }),
  ],
});
const breaker: Agent = {
  id: AgentId.of("breaker"),
  run: () => Promise.reject(new Error("CANARY-ERROR")),
};

interface Site {
  readonly site: TestServer;
  /** Calls a tool of MCP, or reads a task of A2A, and returns the answer as text. */
  readonly mcp: (key: string, name: string, args: object) => Promise<string>;
  readonly a2a: (key: string, id: string) => Promise<string>;
}

/** A server with all agents behind both protocols. */
async function open(): Promise<Site> {
  const agents = [teller, payer, breaker] as const;
  const runtime = createRuntime({ agents, store: memoryStore(), approver: "human" });
  const mounts = [
    mcpServer({ agents, waitS: 0.05 }),
    ...a2aServer({ agents: [teller, payer, breaker], url: "http://127.0.0.1:1", waitS: 0.05 }),
  ];
  const site = closing(await TestServer.open({ runtime, auth, mounts }));
  const rpc = async (path: string, key: string, method: string, params: object): Promise<string> => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const reply = await fetch(site.url + path, { method: "POST", headers, body });
    expect(reply.status).toBe(200);
    return reply.text();
  };
  return {
    site,
    mcp: (key, name, args) => rpc("/mcp", key, "tools/call", { name, arguments: args }),
    a2a: (key, id) => rpc("/a2a", key, "tasks/get", { id }),
  };
}

test("a key without the scope content reads no content of other keys' trees through MCP and A2A", async () => {
  const { site, mcp, a2a } = await open();
  const { owner, weak, runner, approver } = made;
  const trees = { told: "teller", pays: "payer", breaks: "breaker" };
  for (const [id, name] of Object.entries(trees))
    expect((await site.post("/runs", { agent: name, input: "go", id }, { key: owner.key })).status).toBe(202);
  for (const id of ["told", "breaks"]) await site.runtime.run(id, { tenant: "acme" }).result();
  await expect.poll(() => a2a(owner.key, "pays")).toMatch(canary);
  for (const id of Object.keys(trees)) {
    expect(await mcp(owner.key, "get_run", { id })).toMatch(canary);
    expect(await a2a(owner.key, id)).toMatch(canary);
    for (const { key } of [weak, runner]) {
      const [answer, task] = [await mcp(key, "get_run", { id }), await a2a(key, id)];
      expect([answer, task].join()).not.toMatch(canary);
      expect(answer).toContain(id === "pays" ? "waiting" : id === "told" ? "completed" : "failed");
      expect(`${answer}${task}`).toContain("withheld");
    }
  }
  // Who decides about a call must see it.
  expect(await mcp(approver.key, "get_run", { id: "pays" })).toMatch(canary);
  expect(await mcp(approver.key, "get_run", { id: "told" })).not.toMatch(canary);
});

test("the answer of a tree that a key started through a mount is shown to that key alone", async () => {
  const { site, mcp, a2a } = await open();
  const { weak, runner } = made;
  const answer = await mcp(weak.key, "teller", { task: "tell" });
  expect(answer).toMatch(canary);
  const [tree] = (await site.runtime.runs.list({ tenant: "acme" })).items;
  const id = tree?.treeId ?? "";
  expect(
    [await mcp(weak.key, "get_run", { id }), await a2a(weak.key, id)].every((text) => canary.test(text)),
  ).toBe(true);
  expect([await mcp(runner.key, "get_run", { id }), await a2a(runner.key, id)].join()).not.toMatch(canary);
});

test("requests to mounts take no place of cancels and decisions", async () => {
  const release = Promise.withResolvers<void>();
  let held = 0;
  const slow: ServerMount = {
    path: "/slow",
    scope: "run",
    handle: async () => {
      held += 1;
      await release.promise;
      return new Response("late");
    },
  };
  const limits = { mounts: 4, calls: 1, control: 2 };
  const site = closing(await TestServer.open({ mounts: [slow], limits, agents: [counter] }));
  await site.post("/runs", { agent: "counter", input: "count", id: "runaway" });
  const waiting: Promise<Reply>[] = [];
  const hold = (key: string): void => void waiting.push(site.post("/slow", {}, { key }));
  const { acme, rival } = site.keys;
  for (const { admin } of [acme, acme]) hold(admin);
  await expect.poll(() => held).toBe(2);
  expect((await site.post("/slow", {})).status).toBe(429);
  hold(rival.admin);
  await expect.poll(() => held).toBe(3);
  expect((await site.post("/runs/runaway/cancel", { reason: "stop" })).status).toBe(200);
  release.resolve();
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200]);
});

test("the streams of one tenant leave places for another, with any number of keys", async () => {
  const keys = Array.from({ length: 4 }, () => keyOf(null, "read"));
  const rival = createApiKey({ tenant: "rival", scopes: ["read"], expiresAt: inAYear });
  const records = [...keys, rival].map(({ record }) => record);
  const site = closing(
    await TestServer.open({ auth: apiKeys(records), limits: { subscribers: 4, subscribersPerKey: 1 } }),
  );
  const statusOf = async (key: string): Promise<number> => {
    const opened = await fetch(`${site.url}/live`, { headers: { authorization: `Bearer ${key}` } });
    return opened.status;
  };
  const own: number[] = [];
  for (const { key } of keys) own.push(await statusOf(key));
  expect(own).toEqual([200, 200, 429, 429]);
  expect(await statusOf(rival.key)).toBe(200);
});

test("tasks through MCP and A2A have the labels of their mount, and none by default", async () => {
  const key = keyOf(null, "read", "run", "content");
  const labels = { untrusted: true };
  const agents = [teller] as const;
  const url = "http://127.0.0.1:1";
  const runtime = createRuntime({ agents, store: memoryStore() });
  const mounts = [
    mcpServer({ agents, labels }),
    mcpServer({ agents, path: "/plain" }),
    ...a2aServer({ agents, url, labels }),
  ];
  await using site = await TestServer.open({ runtime, auth: apiKeys([key.record]), mounts });
  const send = async (path: string, method: string, params: object): Promise<void> => {
    const reply = await ask(site.url + path, "POST", {
      key: key.key,
      headers: { accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 1, method, params },
    });
    expect(reply.status).toBe(200);
  };
  const newest = async (): Promise<boolean | undefined> => {
    const [root] = (await runtime.runs.list({ tenant: "acme" })).items;
    const result = await runtime.run(root?.treeId ?? "", { tenant: "acme" }).result();
    return result.labels?.untrusted;
  };
  await send("/mcp", "tools/call", { name: "teller", arguments: { task: "go" } });
  expect(await newest()).toBe(true);
  await send("/plain", "tools/call", { name: "teller", arguments: { task: "go" } });
  expect(await newest()).not.toBe(true);
  const message = { kind: "message", messageId: "m1", role: "user", parts: [{ kind: "text", text: "go" }] };
  await send("/a2a", "message/send", { message });
  expect(await newest()).toBe(true);
});
