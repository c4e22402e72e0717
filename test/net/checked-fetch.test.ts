import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createAddressPolicy, createCheckedFetch, type CheckedFetchOptions } from "reeve/net";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { serveOn } from "./loopback-servers.ts";

const policy = createAddressPolicy({ allowHttp: true, allow: ["127.0.0.0/8", "localhost"] });
const fetchWith = (limits: Partial<CheckedFetchOptions> = {}) => createCheckedFetch({ policy, ...limits });

test("sends requests and reads responses like the platform's fetch", async () => {
  await using server = await serveOn((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () =>
      response
        .writeHead(201, { "content-type": "application/json", "set-cookie": ["a=1", "b=2"] })
        .end(JSON.stringify([request.method, request.headers["x-one"], Buffer.concat(parts).toString()])),
    );
  });
  const response = await fetchWith()(`${server.url}path`, {
    method: "POST",
    headers: { "x-one": "1", host: "other.example" },
    body: new URLSearchParams({ a: "b" }),
  });
  expect([response.status, response.url]).toEqual([201, `${server.url}path`]);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(await response.json()).toEqual(["POST", "1", "a=b"]);
  const head = await fetchWith()(new Request(server.url, { method: "HEAD" }));
  expect([head.status, head.body]).toEqual([201, null]);
});

test("sends the host of the URL, whatever the caller sets", async () => {
  await using server = await serveOn((request, response) => response.end(request.headers.host));
  const response = await fetchWith()(server.url, { headers: { host: "admin.internal" } });
  expect(await response.text()).toBe(`127.0.0.1:${server.port}`);
});

test("follows at most the allowed number of redirects", async () => {
  await using server = await serveOn((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end();
    else response.end("arrived");
  });
  const response = await fetchWith()(`${server.url}5`);
  expect([await response.text(), response.redirected]).toEqual(["arrived", true]);
  await expect(fetchWith()(`${server.url}6`)).rejects.toMatchObject({ rule: "redirects" });
  await expect(fetchWith()(`${server.url}1`, { redirect: "error" })).rejects.toMatchObject({
    rule: "redirects",
  });
  expect((await fetchWith()(`${server.url}1`, { redirect: "manual" })).status).toBe(302);
});

test("drops credentials when the origin changes, and only then", async () => {
  const seen: unknown[] = [];
  await using other = await serveOn((request, response) => {
    seen.push(
      request.headers.authorization,
      request.headers.cookie,
      request.headers["x-api-key"],
      request.method,
    );
    response.end();
  });
  await using first = await serveOn((request, response) => {
    if (request.url === "/same") response.writeHead(307, { location: "/across" }).end();
    else {
      seen.push(request.headers.authorization);
      response.writeHead(303, { location: other.url }).end();
    }
  });
  const response = await fetchWith({ credentialHeaders: ["x-api-key"] })(`${first.url}same`, {
    method: "POST",
    body: "x",
    headers: { authorization: "Bearer t", cookie: "c=1", "x-api-key": "k" },
  });
  expect(response.status).toBe(200);
  expect(seen).toEqual(["Bearer t", undefined, undefined, undefined, "GET"]);
});

test.each([
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
])("reads a body that is compressed with %s", async (encoding, compress) => {
  await using server = await serveOn((_, response) =>
    response.writeHead(200, { "content-encoding": encoding }).end(compress("hello ".repeat(100))),
  );
  const response = await fetchWith()(server.url);
  expect(response.headers.get("content-encoding")).toBeNull();
  expect(await response.text()).toBe("hello ".repeat(100));
});

test("ends a body that grows beyond its limit, declared or not", async () => {
  await using server = await serveOn((request, response) => {
    const body = Buffer.alloc(20_000, 120);
    if (request.url === "/declared") response.writeHead(200, { "content-length": body.length });
    else response.writeHead(200, { "transfer-encoding": "chunked" });
    response.end(body);
  });
  const limit = { code: "fetch-limit", limit: "bytes" };
  await expect(fetchWith({ maxBytes: 9_999 })(`${server.url}declared`)).rejects.toMatchObject(limit);
  const response = await fetchWith({ maxBytes: 9_999 })(server.url);
  await expect(response.text()).rejects.toMatchObject(limit);
  expect(await (await fetchWith({ maxBytes: 20_000 })(server.url)).text()).toHaveLength(20_000);
});

test("ends a body that is compressed too much, before it is whole in memory", async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  await using server = await serveOn((_, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end(bomb),
  );
  const response = await fetchWith({ maxBytes: Infinity })(server.url);
  await expect(response.arrayBuffer()).rejects.toMatchObject({ limit: "compression" });
  const small = await fetchWith({ maxBytes: 100_000 })(server.url);
  await expect(small.arrayBuffer()).rejects.toMatchObject({ limit: "bytes" });
});

test.each(["gzip, gzip", "zstd", "unknown"])("refuses the encoding %s", async (encoding) => {
  await using server = await serveOn((_, response) =>
    response.writeHead(200, { "content-encoding": encoding }).end("x"),
  );
  await expect(fetchWith()(server.url)).rejects.toThrow("is not supported");
});

test("ends a request that takes too long, and one that stalls", async () => {
  const clock = manualClock();
  const asked = Promise.withResolvers<void>();
  await using silent = await serveOn(() => asked.resolve());
  const waiting = fetchWith({ clock, idleTimeoutMs: 10_000 })(silent.url);
  waiting.catch(() => {});
  await asked.promise;
  await clock.advance(10_000);
  await expect(waiting).rejects.toMatchObject({ limit: "idle" });

  await using endless = await serveOn((_, response) => response.writeHead(200).write("first"));
  const response = await fetchWith({ clock, idleTimeoutMs: Infinity, timeoutMs: 60_000 })(endless.url);
  const reader = response.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first");
  await clock.advance(60_000);
  await expect(reader?.read()).rejects.toMatchObject({ limit: "time" });
});

test("ends with the reason of the caller's signal, also inside the body", async () => {
  const ended = Promise.withResolvers<void>();
  await using server = await serveOn((request, response) => {
    request.on("close", () => ended.resolve());
    response.writeHead(200).write("first");
  });
  const controller = new AbortController();
  const response = await fetchWith()(server.url, { signal: controller.signal });
  const reader = response.body?.getReader();
  await reader?.read();
  controller.abort(new Error("not needed any more"));
  await expect(reader?.read()).rejects.toThrow("not needed any more");
  await ended.promise;
  await expect(fetchWith()(server.url, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
    "before",
  );
});

test("closes the connection when the caller leaves the body", async () => {
  const ended = Promise.withResolvers<void>();
  await using server = await serveOn((request, response) => {
    request.on("close", () => ended.resolve());
    response.writeHead(200).write("first");
  });
  const response = await fetchWith()(server.url);
  await response.body?.cancel();
  await ended.promise;
});

test("reports a connection that cannot be made", async () => {
  const server = await serveOn((_, response) => response.end());
  await server[Symbol.asyncDispose]();
  await expect(fetchWith()(server.url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
