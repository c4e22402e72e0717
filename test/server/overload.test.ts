import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createRuntime } from "reeve";
import { type EventStore, type RunStore, type Store } from "reeve/store";
import type { Limits } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Route } from "../../src/server/route.ts";
import { routes } from "../../src/server/routes.ts";
import { ask, codeOf, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, approvalAgent } from "./test-server.ts";
import { type HeldEngine, heldEngine } from "./held-engine.ts";

/** A server whose engine opens no tree before it is released. */
async function openHeldSite(
  limits: Limits,
): Promise<{ readonly site: TestServer; readonly engine: HeldEngine }> {
  const engine = heldEngine();
  const runtime = createRuntime({ agents: [approvalAgent()], store: memoryStore(), engine });
  const site = await TestServer.open({ runtime, limits });
  closing(site);
  return { site, engine };
}

const statusCodeAndRetry = (reply: Reply): readonly unknown[] => [
  reply.status,
  codeOf(reply),
  reply.headers["retry-after"],
];
const ofYours = [429, "too-many-requests", "1"];
const ofAll = [429, "overloaded", "1"];
const body = { agent: "writer", input: "send" };

const TreeStarted = z.object({ treeId: z.string() });

/** The store lists it. */
async function readStream(site: TestServer, tree: string): Promise<void> {
  for await (const _ of site.runtime.run(tree, { tenant: "acme" }).events()) return;
}

test("starts above the limit are refused at once and begin nothing, until one is answered", async () => {
  const { site, engine } = await openHeldSite({ starts: 4 });
  const accepted = [site.post("/runs", body), site.post("/runs", body)];
  await expect.poll(() => engine.held.length).toBe(2);
  expect(statusCodeAndRetry(await site.post("/runs", { ...body, id: "refused" }))).toEqual(ofYours);
  expect(engine.held.length).toBe(2);
  expect((await site.get("/runs/refused")).status).toBe(404);
  engine.letOne();
  const { treeId } = TreeStarted.parse((await accepted[0])?.json);
  await readStream(site, treeId);
  const again = site.post("/runs", { ...body, id: "refused" });
  await expect.poll(() => engine.held).toContain("acme/refused");
  engine.letOne();
  engine.letOne();
  expect([(await again).status, (await accepted[1])?.status]).toEqual([202, 202]);
});

test("one tenant cannot use up the places of others, with any number of keys", async () => {
  const { site, engine } = await openHeldSite({ starts: 8 });
  const { acme, rival } = site.keys;
  const starts: Promise<Reply>[] = [];
  const fill = async (key: string, held: number): Promise<void> => {
    const before = engine.held.length;
    for (let n = before; n < held; n += 1) starts.push(site.post("/runs", body, { key }));
    await expect.poll(() => engine.held.length).toBe(held);
    expect(statusCodeAndRetry(await site.post("/runs", body, { key }))).toEqual(ofYours);
  };
  await fill(acme.run, 4);
  expect(statusCodeAndRetry(await site.post("/runs", body, { key: acme.admin }))).toEqual(ofYours);
  await fill(rival.run, 6);
  // Both go on asking for all they can get: they come to have the same.
  engine.letOne();
  await readStream(site, TreeStarted.parse((await starts[0])?.json).treeId);
  expect(statusCodeAndRetry(await site.post("/runs", body, { key: acme.run }))).toEqual(ofYours);
  await fill(rival.run, 6);
  for (let n = 0; n < 6; n += 1) engine.letOne();
  expect(new Set((await Promise.all(starts)).map(({ status }) => status))).toEqual(new Set([202]));
});

test("while starts wait, reads, steers and cancels are answered", async () => {
  const { site, engine } = await openHeldSite({ starts: 2 });
  const begun = site.post("/runs", { ...body, id: "begun" });
  await expect.poll(() => engine.held.length).toBe(1);
  engine.letOne();
  expect((await begun).status).toBe(202);
  await readStream(site, "begun");
  const held = site.post("/runs", body);
  await expect.poll(() => engine.held.length).toBe(1);
  expect(statusCodeAndRetry(await site.post("/runs", body))).toEqual(ofYours);
  const chat = {
    id: "talk",
    messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "send_email" }] }],
  };
  expect(statusCodeAndRetry(await site.post("/chat/writer", chat))).toEqual(ofYours);
  expect((await site.get("/runs")).status).toBe(200);
  expect((await site.get("/runs/begun/events")).status).toBe(200);
  expect((await site.post("/runs/begun/cancel")).status).toBe(200);
  engine.letOne();
  expect((await held).status).toBe(202);
});

/** A store that receives events on request of the test. */
function manualStore(): { readonly store: Store; readonly hear: () => void } {
  const store = memoryStore();
  const { events: kept } = store;
  const listens = Promise.withResolvers<void>();
  const events: EventStore = {
    append: (...given) => listens.promise.then(() => kept.append(...given)),
    rewrite: (...given) => kept.rewrite(...given),
    waitForEvents: (...given) => kept.waitForEvents(...given),
    changes: (...given) => kept.changes(...given),
    read: (...given) => kept.read(...given),
  };
  const runs: RunStore = {
    put: (...given) => listens.promise.then(() => store.runs.put(...given)),
    list: (...given) => store.runs.list(...given),
    search: (...given) => store.runs.search(...given),
    live: (...given) => store.runs.live(...given),
    tree: (...given) => store.runs.tree(...given),
  };
  return { store: Object.assign(Object.create(store), { events, runs }), hear: () => listens.resolve() };
}

test("accepted starts count until they are stored: the store's lag limits new starts", async () => {
  const { store, hear } = manualStore();
  const runtime = createRuntime({ agents: [approvalAgent()], store });
  const site = await TestServer.open({ runtime, limits: { starts: 1 } });
  closing(site);
  expect((await site.post("/runs", body)).status).toBe(202);
  expect(statusCodeAndRetry(await site.post("/runs", body))).toEqual(ofAll);
  expect((await site.get("/runs")).status).toBe(200);
  hear();
  await expect.poll(async () => (await site.post("/runs", body)).status).toBe(202);
});

test("a subscriber to a tree started here does not ask the tree whether it exists", async () => {
  const { store, hear } = manualStore();
  const engine = heldEngine();
  const site = await TestServer.open({
    runtime: createRuntime({ agents: [approvalAgent()], store, engine }),
  });
  closing(site);
  const begun = site.post("/runs", { ...body, id: "begun" });
  await expect.poll(() => engine.held.length).toBe(1);
  engine.letOne();
  expect((await begun).status).toBe(202);
  expect((await site.get("/runs/begun/events")).status).toBe(200);
  expect(engine.called).not.toContain("status");
  expect((await site.get("/runs/begun/events", { key: site.keys.rival.admin })).status).toBe(404);
  hear();
});

test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "%s is refused where its pool is full, before its body is read",
  async (_, { method, path, pool }: Route) => {
    const { site } = await openHeldSite({ [pool]: 0 });
    const url = site.url + path.replaceAll(/:\w+/g, "any");
    const isPost = method === "post";
    const unread = { body: "not JSON", headers: { "content-type": "text/plain" } };
    const key = site.keys.acme.admin;
    expect(statusCodeAndRetry(await ask(url, method.toUpperCase(), { key, ...(isPost && unread) }))).toEqual(
      ofAll,
    );
  },
);

/** A start whose body is in transit. */
async function beginStart({ url, keys }: TestServer): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.setEncoding("utf8");
  await once(socket, "connect");
  socket.write(
    `POST /runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${keys.acme.admin}\r\n` +
      "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
  );
  return socket;
}

test("a refused client need not send its body, and a client that leaves midway frees its place", async () => {
  const noted: unknown[] = [];
  const site = await TestServer.open({ limits: { starts: 1 }, onError: (error) => noted.push(error) });
  closing(site);
  const slow = await beginStart(site);
  await expect.poll(async () => statusCodeAndRetry(await site.post("/runs", body))).toEqual(ofAll);
  const late = await beginStart(site);
  const [head]: string[] = await once(late, "data");
  expect(head).toMatch(/^HTTP\/1\.1 429 /);
  await once(late.resume(), "close");
  slow.destroy();
  await expect.poll(async () => (await site.post("/runs", body)).status).toBe(202);
  expect(noted).toEqual([]);
});

test("a requested start counts until it is answered, even if its caller has left", async () => {
  const { site, engine } = await openHeldSite({ starts: 1 });
  const { hostname, port } = new URL(site.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const text = JSON.stringify({ ...body, id: "left" });
  socket.write(
    `POST /runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${site.keys.acme.admin}\r\n` +
      `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  await expect.poll(() => engine.held.length).toBe(1);
  socket.destroy();
  await once(socket, "close");
  expect(statusCodeAndRetry(await site.post("/runs", body))).toEqual(ofAll);
  engine.letOne();
  await readStream(site, "left");
  const again = site.post("/runs", { ...body, id: "left" });
  await expect.poll(() => engine.held.length).toBe(1);
  engine.letOne();
  expect((await again).json).toMatchObject({ treeId: "left" });
});
