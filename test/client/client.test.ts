import { createServer, type Server } from "node:http";
import { buffer } from "node:stream/consumers";
import { agent, AgentId, createRuntime, tool, type Agent, type OutputOf } from "reeve";
import { ClientError, createClient, type SentResult, type StartSettings } from "reeve/client";
import { apiKeys, createApiKey, listen, type Scope } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { routes } from "../../src/server/routes.ts";
import { freePort } from "../free-port.ts";

const review = agent({
  name: "reviewer",
  model: scriptedModel([say('{"score": 3}')]),
  output: z.object({ score: z.number() }),
});
const send = tool({
  name: "send",
  description: "Sends",
  input: z.object({}),
  risk: "high",
  execute: () => "sent",
});
const writer = agent({
  name: "writer",
  model: scriptedModel([call("send", {}), say("done")]),
  tools: [send],
  permissions: { decide: () => "ask" },
});
const counter: Agent = {
  id: AgentId.of("counter"),
  run: async (ctx, inbox) => {
    const told = Number(await ctx.waitFor("count"));
    for (let n = 0; n < told; n++) await ctx.emit({ n });
    return inbox.takeSteering().map(({ text }) => text);
  },
};

const scopes: readonly Scope[] = ["read", "run", "approve", "admin"];

/** A server on a real socket, and a client with every scope. */
async function open() {
  const expiresAt = Date.now() + 3_600_000;
  const { key, record } = createApiKey({ tenant: "acme", scopes, expiresAt });
  const store = memoryStore();
  const runtime = createRuntime({ agents: [review, writer, counter], store, approver: "human" });
  const server = await listen({ runtime, port: 0, auth: apiKeys([record]) });
  return {
    key,
    url: server.url,
    client: createClient({ url: server.url, key }),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

test("a tree is started, watched and read with its type", async () => {
  await using t = await open();
  const run = await t.client.start<OutputOf<typeof review>>("reviewer", "Review", { id: "r1", user: "ada" });
  const types: string[] = [];
  for await (const { type } of run.events()) types.push(type);
  expect(types.at(0)).toBe("run.start");
  expect(types.at(-1)).toBe("run.end");
  const result = await run.result();
  expectTypeOf(result).toEqualTypeOf<SentResult<{ score: number }>>();
  expect(result.output?.score).toBe(3);
  expect(await t.client.run("r1").status()).toBe("completed");
  expect((await t.client.runs({ user: "ada" })).items).toHaveLength(1);
});

test("result() waits, and steer, signal and cancel reach the run", async () => {
  await using t = await open();
  const run = await t.client.start("counter", "go");
  expect(await run.resultNow()).toBeNull();
  await run.steer("faster");
  const result = run.result();
  await run.signal("count", 2);
  expect(await result).toMatchObject({ status: "completed", output: ["faster"] });
  const other = await t.client.start("counter", "go");
  expect(await other.cancel("enough")).toMatchObject({ reason: "enough" });
  expect((await other.result()).status).toBe("cancelled");
});

test("a client answers a question", async () => {
  await using t = await open();
  const run = await t.client.start("writer", "go");
  for await (const { type } of run.events()) if (type === "approval.requested") break;
  const { items } = await t.client.approvals();
  expect(items).toHaveLength(1);
  await t.client.approve(items[0]?.id ?? "", { reason: "fine" });
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
});

test("after a cut connection events continue behind the last one", async () => {
  await using t = await open();
  const cutter = await cuttingProxy(t.url, 2);
  try {
    const run = createClient({ url: cutter.url, key: t.key }).run("c1");
    await t.client.start("counter", "go", { id: "c1" });
    await t.client.run("c1").signal("count", 20);
    const seen: number[] = [];
    for await (const { seq } of run.events()) seen.push(seq);
    expect(cutter.cuts()).toBe(2);
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    expect(seen.length).toBeGreaterThan(20);
  } finally {
    cutter.close();
  }
});

/** Returns code, status and retryable of a request that fails. */
const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof ClientError ? [error.code, error.status, error.retryable] : error),
  );

test("a refusal has the server's code and status; an unreachable server gives neither", async () => {
  await using t = await open();
  expect(await failureOf(t.client.start("unknown", "go"))).toEqual(["not-found", 404, false]);
  expect(await failureOf(createClient({ url: t.url, key: "wrong" }).runs())).toEqual([
    "unauthorized",
    401,
    false,
  ]);
  const gone = createClient({ url: `http://127.0.0.1:${await freePort()}` });
  expect(await failureOf(gone.runs())).toEqual(["unreachable", null, true]);
});

test("every request of the client is in the server's table, and start takes every field that its route takes", async () => {
  const paths = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  const asked: string[] = [];
  await using t = await open();
  const recorder = await cuttingProxy(t.url, 0, (line) => asked.push(line));
  try {
    const client = createClient({ url: recorder.url, key: t.key });
    const run = await client.start("counter", "go", { id: "p1" });
    await run.pause();
    await run.resume();
    await run.topUp({ maxTurns: 1 });
    await run.followUp("more");
    await client.deny("p1~0:tool:1").catch(() => undefined);
    await run.cancel();
  } finally {
    recorder.close();
  }
  const patterns = asked.map((line) =>
    line.replace("p1~0:tool:1", ":approval").replace(/p1(?:~\w+)?/, ":run"),
  );
  expect(patterns).toHaveLength(7);
  expect(patterns.filter((line) => !paths.has(line))).toEqual([]);
  const start = routes.find(({ method, path }) => method === "post" && path === "/runs");
  const fields = Object.keys(start?.body?.fields ?? {}).filter((name) => !["agent", "input"].includes(name));
  const known: Record<keyof StartSettings, true> = {
    id: true,
    user: true,
    session: true,
    name: true,
    onBusy: true,
    after: true,
    channel: true,
    metadata: true,
    retention: true,
    budget: true,
    spawn: true,
    priority: true,
    deadlineS: true,
    labels: true,
  };
  expect(Object.keys(known).toSorted()).toEqual(fields.toSorted());
});

/** Passes requests on, and cuts this many event streams after their first bytes. */
async function cuttingProxy(
  target: string,
  cutsWanted: number,
  onRequest: (line: string) => void = () => {},
): Promise<{ readonly url: string; cuts(): number; close(): void }> {
  let cuts = 0;
  const server: Server = createServer((request, response) => {
    onRequest(`${request.method?.toLowerCase()} ${decodeURIComponent(request.url?.split("?")[0] ?? "")}`);
    const pass = async (): Promise<void> => {
      const body = await buffer(request);
      const headers = Object.fromEntries(
        ["authorization", "content-type", "accept", "last-event-id"].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === "string" ? [[name, value]] : [];
        }),
      );
      const answer = await fetch(`${target}${request.url}`, {
        method: request.method ?? "GET",
        headers,
        ...(body.length > 0 && { body }),
      });
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
      for await (const chunk of answer.body ?? []) {
        response.write(chunk);
        if (request.url?.includes("/events") && cuts < cutsWanted) {
          cuts += 1;
          response.destroy();
          return;
        }
      }
      response.end();
    };
    pass().catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    cuts: () => cuts,
    close: () => server.close().closeAllConnections(),
  };
}

test("a client that is created for a user acts for that user in every request", async () => {
  await using t = await open();
  const [ada, bob] = ["ada", "bob"].map((user) => createClient({ url: t.url, key: t.key, user }));
  const run = await ada?.start("counter", "go", { id: "hers" });
  await expect.poll(() => run?.status()).toBe("waiting");
  expect(await failureOf(bob?.run("hers").status() ?? Promise.resolve())).toEqual(["not-found", 404, false]);
  await expect.poll(async () => (await t.client.runs({ user: "ada" })).items.length).toBe(1);
  expect([(await ada?.runs())?.items.length, (await bob?.runs())?.items.length]).toEqual([1, 0]);
});
