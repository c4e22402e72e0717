import { once } from "node:events";
import { connect } from "node:net";
import { local } from "#engines/local";
import { createRuntime, Runtime } from "reeve";
import { apiKeys, createApiKey, listen, serverApp } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask, codeOf, open as request, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer, inAYear, approvalAgent } from "./test-server.ts";

const openSite = async (...options: Parameters<typeof TestServer.open>): Promise<TestServer> =>
  closing(await TestServer.open(...options));

const newRuntime = () => {
  const runtime = createRuntime({ agents: [approvalAgent()], store: memoryStore() });
  closing(runtime);
  return runtime;
};

const statusAndCode = (reply: Reply): readonly unknown[] => [reply.status, codeOf(reply)];

test.each(["0.0.0.0", "::", "192.0.2.7"])(
  "the server refuses to listen on %s without auth",
  async (hostname) => {
    const runtime = newRuntime();
    await expect(listen({ runtime, hostname, port: 0 })).rejects.toThrow("auth");
    await expect(listen({ runtime, hostname, port: 0, auth: "none" })).rejects.toThrow("auth");
    await expect(listen({ runtime, hostname, port: 0, auth: apiKeys([]) })).rejects.toThrow("names");
  },
);

test("with auth and a host name the server listens on a public address", async () => {
  const { key, record } = createApiKey({ tenant: null, scopes: ["read"], expiresAt: inAYear });
  const hosts = ["estate.example"];
  const listener = await listen({
    runtime: newRuntime(),
    hostname: "0.0.0.0",
    port: 0,
    auth: apiKeys([record]),
    hosts,
  });
  closing(listener);
  const url = `http://127.0.0.1:${listener.port}/agents`;
  expect((await ask(url, "GET", { key, headers: { host: "estate.example" } })).status).toBe(200);
  expect((await ask(url, "GET", { headers: { host: "estate.example" } })).status).toBe(401);
});

test("on loopback no key is needed, and a page of another origin is refused", async () => {
  const listener = await listen({ runtime: newRuntime(), port: 0 });
  closing(listener);
  const url = `${listener.url}/agents`;
  expect((await ask(url, "GET")).status).toBe(200);
  for (const host of [
    "evil.example",
    `evil.example:${listener.port}`,
    "localhost.evil.example",
    "127.0.0.1.evil",
  ])
    expect(statusAndCode(await ask(url, "GET", { headers: { host } }))).toEqual([421, "host-not-allowed"]);
  for (const host of ["localhost", `LOCALHOST:${listener.port}`, "127.0.0.1:1", "[::1]:80"])
    expect((await ask(url, "GET", { headers: { host } })).status).toBe(200);
});

test("requests from other origins are refused, without CORS headers", async () => {
  const listener = await listen({ runtime: newRuntime(), port: 0 });
  closing(listener);
  const url = `${listener.url}/runs`;
  const body = { agent: "writer", input: "send" };
  const from = (headers: Readonly<Record<string, string>>): Promise<Reply> =>
    ask(url, "POST", { body, headers });
  const strange: readonly Readonly<Record<string, string>>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: `http://localhost:${listener.port + 1}` },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];
  for (const headers of strange) {
    const reply = await from(headers);
    expect(statusAndCode(reply)).toEqual([403, "wrong-origin"]);
    expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
  }
  const preflight = await ask(url, "OPTIONS", { headers: { origin: "https://evil.example" } });
  expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  expect((await from({ origin: listener.url, "sec-fetch-site": "same-origin" })).status).toBe(202);
  expect((await from({})).status).toBe(202);
});

test("requests from a listed origin are accepted with a key", async () => {
  const origin = "https://desk.example";
  const site = await openSite({ origins: [origin] });
  const preflight = await ask(`${site.url}/runs`, "OPTIONS", { headers: { origin } });
  expect([preflight.status, preflight.headers["access-control-allow-origin"]]).toEqual([204, origin]);
  const reply = await site.get("/agents", { headers: { origin } });
  expect([reply.status, reply.headers["access-control-allow-origin"]]).toEqual([200, origin]);
  const keyless = await ask(`${site.url}/agents`, "GET", { headers: { origin } });
  expect([keyless.status, keyless.headers["access-control-allow-origin"]]).toEqual([401, origin]);
  expect((await site.get("/agents", { headers: { origin: `${origin}.evil` } })).status).toBe(403);
});

test("a body that is too large is refused, with or without a declared length", async () => {
  const site = await openSite({ limits: { bodyBytes: 1_000, uploadBytes: 1_500 } });
  const body = { agent: "writer", input: "x".repeat(2_000) };
  expect(statusAndCode(await site.post("/runs", body))).toEqual([413, "body-too-large"]);
  const { hostname, port } = new URL(site.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.setEncoding("utf8");
  socket.write(
    `POST /runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${site.keys.acme.admin}\r\n` +
      "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
  );
  // It never ends: it is refused before that.
  for (let n = 0; n < 3; n += 1) socket.write(`200\r\n${"x".repeat(512)}\r\n`);
  const [head]: string[] = await once(socket, "data");
  expect(head).toMatch(/^HTTP\/1\.1 413 /);
  await once(socket.resume(), "close");
});

test("a body that is not JSON is refused, and so is a form that a page could send", async () => {
  const site = await openSite();
  const key = site.keys.acme.admin;
  const post = (body: string, type: string): Promise<Reply> =>
    ask(`${site.url}/runs`, "POST", { key, body, headers: { "content-type": type } });
  for (const body of ["{", "[]", "null", '"x"', '{"agent":"writer"}', '{"agent":"writer","input":7}'])
    expect(statusAndCode(await post(body, "application/json"))).toEqual([400, "invalid-request"]);
  const good = JSON.stringify({ agent: "writer", input: "send" });
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
    expect(statusAndCode(await post(good, type))).toEqual([415, "unsupported-media-type"]);
  expect((await post(good, "application/json; charset=utf-8")).status).toBe(202);
});

test("a number that could not be kept exactly is refused, and the same digits as a text are not", async () => {
  const site = await openSite();
  const post = (data: string): Promise<Reply> =>
    ask(`${site.url}/runs`, "POST", {
      key: site.keys.acme.admin,
      body: `{"agent":"writer","input":"send","metadata":{"n":${data}}}`,
      headers: { "content-type": "application/json" },
    });
  for (const number of ["1e309", "12345678901234567890", "-9007199254740993"])
    expect(statusAndCode(await post(number))).toEqual([400, "invalid-request"]);
  for (const fine of ["9007199254740991", '"12345678901234567890"', "1e300"])
    expect((await post(fine)).status).toBe(202);
});

const nestLists = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

test("a body that is nested too deep is refused, at any position", async () => {
  const site = await openSite();
  const start = (levels: number): Promise<Reply> => {
    const body = `{"agent":"writer","input":"send","metadata":{"deep":${nestLists(levels)}}}`;
    const headers = { "content-type": "application/json" };
    return ask(`${site.url}/runs`, "POST", { key: site.keys.acme.admin, body, headers });
  };
  for (const levels of [63, 5_000, 100_000]) {
    const refused = await start(levels);
    expect(statusAndCode(refused)).toEqual([400, "invalid-request"]);
    expect(JSON.stringify(refused)).toContain("must be nested at most 64 levels deep");
  }
  expect((await start(62)).status).toBe(202);
});

const objectWith = (keys: number): object =>
  Object.fromEntries(Array.from({ length: keys }, (_, key) => [key, 1]));

const listWith = (keys: number): object => ({ list: Array.from({ length: keys }, () => ({ a: 1 })) });

test("a body with too many keys is refused, whether they are in one object or in many", async () => {
  const site = await openSite();
  const start = (metadata: object): Promise<Reply> =>
    site.post("/runs", { agent: "writer", input: "send", metadata });
  for (const make of [objectWith, listWith]) {
    const refused = await start(make(50_001));
    expect(statusAndCode(refused)).toEqual([400, "invalid-request"]);
    expect(JSON.stringify(refused)).toContain("must have at most 50000 keys");
    expect(JSON.stringify(await start(make(49_990)))).not.toContain("keys");
  }
});

test("a key is valid until it expires, and its record does not contain it", async () => {
  const clock = manualClock(1_000);
  const { key, record } = createApiKey({ tenant: "acme", scopes: ["read"], expiresAt: 2_000 });
  const [, , ...secret] = key.split("_"); // which may hold a "_" of its own
  expect(JSON.stringify(record)).not.toContain(secret.join("_"));
  const auth = apiKeys([record], { clock });
  expect(await auth.authenticate(key)).toEqual({
    id: record.id,
    tenant: "acme",
    scopes: ["read"],
    expiresAt: 2_000,
  });
  expect(await auth.authenticate(`${key}x`)).toBeNull();
  expect(await auth.authenticate(record.hash)).toBeNull();
  await clock.advance(1_000);
  expect(await auth.authenticate(key)).toBeNull();
});

test("keys in a store are valid until they are revoked", async () => {
  const { apiKeys: kept } = memoryStore();
  const { key, record } = createApiKey({ tenant: "acme", scopes: ["read"], expiresAt: inAYear });
  const auth = apiKeys(kept);
  expect(await auth.authenticate(key)).toBeNull();
  await kept.put(record);
  expect((await auth.authenticate(key))?.id).toBe(record.id);
  await kept.revoke("acme", record.id);
  expect(await auth.authenticate(key)).toBeNull();
});

test("a client over its rate gets a retry time, and other clients are not affected", async () => {
  const clock = manualClock(1_000);
  const site = await openSite({ clock, limits: { requestsPerMinute: 3 } });
  for (let n = 0; n < 3; n += 1) expect((await site.get("/agents")).status).toBe(200);
  const refused = await site.get("/agents");
  expect([...statusAndCode(refused), refused.headers["retry-after"]]).toEqual([
    429,
    "too-many-requests",
    "20",
  ]);
  expect((await site.get("/agents", { key: site.keys.rival.admin })).status).toBe(200);
  await clock.advance(20_000);
  expect((await site.get("/agents")).status).toBe(200);
  expect((await site.get("/agents")).status).toBe(429);
});

const neverEnds = (): Promise<never> => new Promise(() => undefined);

test("without an answering worker, the caller gets an error in time", async () => {
  const store = memoryStore();
  const stuck = Object.assign(Object.create(store), { sessions: { list: neverEnds } });
  const site = await openSite({
    runtime: createRuntime({ agents: [], store: stuck }),
    limits: { requestTimeoutMs: 200 },
  });
  expect(statusAndCode(await site.get("/sessions"))).toEqual([504, "no-answer"]);
  expect((await site.get("/agents")).status).toBe(200);
});

test("a request that is sent too slowly is ended", async () => {
  const site = await openSite({ headersTimeoutS: 1, requestTimeoutS: 1 });
  const { hostname, port } = new URL(site.url);
  for (const beginning of [
    "GET /agents HTTP/1.1\r\nhost: lo",
    "POST /runs HTTP/1.1\r\ncontent-length: 9\r\n\r\n{",
  ]) {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(beginning);
    await once(socket.resume(), "close");
  }
});

test("every response has headers that restrict pages", async () => {
  const site = await openSite();
  const answers = [
    await site.get("/agents"),
    await site.get("/nothing"),
    await ask(`${site.url}/agents`, "GET"),
    await ask(`${site.url}/agents`, "GET", { headers: { host: "evil.example" } }),
  ];
  for (const { headers } of answers)
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
  await site.post("/runs", { agent: "counter", input: "count", id: "silence" });
  const stream = await request(`${site.url}/runs/silence/events`, "GET", { key: site.keys.acme.read });
  expect(stream.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
  stream.destroy();
});

const noteOf = z.object({ error: z.object({ code: z.string(), message: z.string(), noted: z.string() }) });

test("an internal error is logged, and the caller gets its id", async () => {
  const noted: (readonly [unknown, string])[] = [];
  const lost = new Error("the disk at /secret/path is full");
  const auth = { authenticate: () => Promise.reject(lost) };
  const app = serverApp({ runtime: newRuntime(), auth, onError: (error, name) => noted.push([error, name]) });
  const response = await app.request("http://localhost/agents", {
    headers: { host: "localhost", authorization: "Bearer x" },
  });
  const { error } = noteOf.parse(await response.json());
  expect([response.status, error.code, error.message]).toEqual([
    500,
    "internal",
    `internal error (id ${error.noted})`,
  ]);
  expect(noted).toEqual([[lost, error.noted]]);
});

test("the app can be mounted below another app without a listener", async () => {
  const app = serverApp({ runtime: newRuntime(), auth: "none" });
  const { Hono } = await import("hono");
  const whole = new Hono().route("/reeve", app);
  const response = await whole.request("http://localhost/reeve/agents", { headers: { host: "localhost" } });
  expect(response.status).toBe(200);
  expect(() => serverApp({ runtime: new Runtime({ agents: [], engine: local() }), auth: "none" })).toThrow(
    "store",
  );
});
