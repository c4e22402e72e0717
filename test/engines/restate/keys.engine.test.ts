import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { type Log, type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Engine,
  Json,
  KeyDestroyedError,
  type Keys,
  type ObjectAddress,
  SealBrokenError,
} from "#kernel";
import { AesSeal, environmentKeys, Seals } from "#sealing";
import { fresh, launch, program, settle } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";

let server: RestateServer;
let port: number;

beforeAll(async () => {
  server = await restateServer();
  port = await freePort();
});

afterAll(() => server[Symbol.asyncDispose]());

const secretOf = (): string => randomBytes(32).toString("base64");

/** A client of the counters. */
function client(keys: Keys, log: Log = () => {}): Engine {
  const engine = restate({ ...server, inactivityTimeoutMs: 0, log });
  engine.define({ ...program, sealing: new Seals(keys) });
  return engine;
}

/** A worker for them. On one port, since a run goes back to where it began. */
async function worker(keys: Keys, log?: Log): Promise<Engine> {
  const engine = client(keys, log);
  await engine.serve({ port });
  return engine;
}

function post(key: string, body: Uint8Array, method = "add"): Promise<Response> {
  return fetch(`${server.ingress}/reeve.counter/${key}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from(body),
  });
}

test("a caller with another key is refused with the name of the tree", async () => {
  const engine = await worker(environmentKeys({ REEVE_KEY: secretOf() }));
  const stranger = client(environmentKeys({ REEVE_KEY: secretOf() }));
  const tree = fresh();
  await engine.call(tree, "add", 1);
  const error = await stranger.call(tree, "add", 1).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SealBrokenError);
  expect(error).toMatchObject({ partition: tree.key, reason: "unknown-key" });
  expect(await engine.call(tree, "total", null)).toBe(1);
  await stranger[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});

test("a call on state that the worker's key cannot decrypt waits, and the worker logs the reason", async () => {
  const [first, second] = [secretOf(), secretOf()];
  const tree = fresh();
  const writer = await worker(environmentKeys({ REEVE_KEY: first }));
  await writer.call(tree, "add", 5);
  await writer[Symbol.asyncDispose]();
  const log: string[] = [];
  const stranger = await worker(
    environmentKeys({ REEVE_KEY: second }),
    (record) => void log.push(JSON.stringify(record)),
  );
  const waiting = stranger.call(tree, "total", null).catch(String);
  const said = `cannot decrypt data of ${tree.key}: unknown-key`;
  await expect.poll(() => log.some((line) => line.includes(said))).toBe(true);
  await stranger[Symbol.asyncDispose]();
  expect(await waiting).toContain("closed");
  const right = await worker(environmentKeys({ REEVE_KEY: second, REEVE_KEY_PREVIOUS: first }));
  expect(await right.call(tree, "total", null)).toBe(5);
  await right[Symbol.asyncDispose]();
});

test("a run that waits while the key is replaced is replayed and continues", async () => {
  const [first, second] = [secretOf(), secretOf()];
  const before = await worker(environmentKeys({ REEVE_KEY: first }));
  const other = fresh();
  let attempts = 0;
  const { tree, execution, result } = await launch(before, async (primitives) => {
    attempts += 1;
    const step = await settle(
      primitives,
      primitives.step("step", async () => "kept"),
    );
    await settle(primitives, primitives.call(primitives.launch.tree, "say", step));
    await settle(primitives, primitives.call(other, "say", step));
    await settle(primitives, primitives.wake("go"));
    return settle(primitives, primitives.call(primitives.launch.tree, "add", 1));
  });
  await expect.poll(() => before.call(other, "words", null)).toEqual(["kept"]);
  await before[Symbol.asyncDispose]();
  const seen = attempts;
  const after = await worker(environmentKeys({ REEVE_KEY: second, REEVE_KEY_PREVIOUS: first }));
  await after.call(tree, "wake", { execution, name: "go" });
  expect(await result).toBe(1);
  expect(attempts).toBeGreaterThan(seen);
  expect(await after.call(tree, "words", null)).toEqual(["kept"]);
  await after[Symbol.asyncDispose]();
});

test("a value sealed for one tree is refused by another", async () => {
  const keys = environmentKeys({ REEVE_KEY: secretOf() });
  const engine = await worker(keys);
  const [one, other] = [fresh().key, fresh().key];
  const seal = AesSeal.of(one, await keys.getRing(one));
  const argument = seal.boundTo("call/counter/add").seal(Buffer.from("3"));
  expect((await post(one, argument)).status).toBe(200);
  const pasted = await post(other, argument);
  expect(pasted.status).toBe(422);
  const { message } = Json.as<{ message: string }>(Json.of(await pasted.json()));
  expect(JSON.parse(message)).toMatchObject({
    code: "seal-broken",
    partition: other,
    reason: "not-authentic",
  });
  expect((await post(one, Buffer.from("3"))).status).toBe(422);
  expect(await engine.call({ type: "counter", key: one }, "total", null)).toBe(3);
  expect(await engine.call({ type: "counter", key: other }, "total", null)).toBe(null);
  await engine[Symbol.asyncDispose]();
});

test("a value sealed for one method is refused by another", async () => {
  const keys = environmentKeys({ REEVE_KEY: secretOf() });
  const engine = await worker(keys);
  const { key } = fresh();
  const argument = AesSeal.of(key, await keys.getRing(key))
    .boundTo("call/counter/add")
    .seal(Buffer.from("3"));
  expect((await post(key, argument)).status).toBe(200);
  expect((await post(key, argument, "say")).status).toBe(422);
  await engine[Symbol.asyncDispose]();
});

test("the reply or error of one call is refused as that of another, even of an equal call", async () => {
  const keys = environmentKeys({ REEVE_KEY: secretOf() });
  const engine = await worker(keys);
  const [recorded, object] = [new Map<string, { status: number; body: Buffer }>(), fresh()];
  let isReplaying = false;
  /** Passes calls on, and later gives the first answer of each path again. */
  const proxy = createServer((request, response) => {
    void buffer(request).then(async (body) => {
      const path = request.url ?? "";
      const headers = { "content-type": "application/octet-stream" };
      const answer = await fetch(`${server.ingress}${path}`, { method: "POST", headers, body });
      const given = { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
      const told = isReplaying ? (recorded.get(path) ?? given) : given;
      if (!recorded.has(path)) recorded.set(path, given);
      response.writeHead(told.status).end(told.body);
    });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const ingress = `http://127.0.0.1:${Json.as<{ port: number }>(Json.of(proxy.address())).port}`;
  await using between = restate({ ...server, ingress });
  between.define({ ...program, sealing: new Seals(keys) });
  expect(await between.call(object, "add", 1)).toBe(1);
  expect(await between.call(object, "add", 1)).toBe(2);
  await expect(between.call(object, "refuse", "one")).rejects.toThrow("one");
  isReplaying = true;
  await expect(between.call(object, "add", 1)).rejects.toThrow(SealBrokenError);
  await expect(between.call(object, "refuse", "other")).rejects.toThrow(SealBrokenError);
  proxy.close();
  await engine[Symbol.asyncDispose]();
});

test("a tree with a destroyed key reports it to every caller, and its run is not retried forever", async () => {
  const given = environmentKeys({ REEVE_KEY: secretOf() });
  const destroyed = new Set<string>();
  const keys: Keys = {
    getRing: async (partition) =>
      destroyed.has(partition)
        ? Promise.reject(new KeyDestroyedError({ partition }))
        : given.getRing(partition),
  };
  const before = await worker(keys);
  const { tree, execution } = await launch(before, async (primitives) => {
    await settle(primitives, primitives.call(primitives.launch.tree, "say", "here"));
    await settle(primitives, primitives.wake("go"));
  });
  await expect.poll(() => before.call(tree, "words", null)).toEqual(["here"]);
  await before[Symbol.asyncDispose]();
  destroyed.add(tree.key);
  const after = await worker(keys);
  await expect(after.call(tree, "words", null)).rejects.toThrow(KeyDestroyedError);
  const remembers = client(given);
  await expect(remembers.call(tree, "words", null)).rejects.toThrow(
    new KeyDestroyedError({ partition: tree.key }),
  );
  await after.call(fresh(), "wake", { execution, name: "go" });
  await expect.poll(() => statusOf(execution)).toBe("completed");
  await remembers[Symbol.asyncDispose]();
  await after[Symbol.asyncDispose]();
});

test("lasting state, and everything that an erased object writes and sends, stays readable after its key is destroyed", async () => {
  const given = environmentKeys({ REEVE_KEY: secretOf() });
  const lasting = environmentKeys({ REEVE_KEY: secretOf() });
  const destroyed = new Set<string>();
  const keys: Keys = {
    getRing: async (partition) => {
      const [last] = await lasting.getRing(partition);
      const [own] = await given.getRing(partition);
      const kept = { ...last, lasting: true };
      return destroyed.has(partition) ? [kept] : [own, kept];
    },
  };
  const [open, erased] = [fresh(), fresh()];
  const before = await worker(keys);
  await before.call(open, "put", { values: { total: 1, "kept/total": 2 }, tell: "too late" });
  await before.call(erased, "put", { values: { total: 3, "kept/total": 4 }, tell: null });
  await before.call(erased, "put", { values: { erased: true }, tell: null });
  await before.call(erased, "put", { values: { total: 5 }, tell: "in time" });
  for (const { key } of [open, erased]) destroyed.add(key);
  await before[Symbol.asyncDispose]();
  const after = await worker(keys);
  const valuesOf = (object: ObjectAddress): Promise<readonly Json[]> =>
    Promise.all(["total", "kept/total", "words"].map((name) => after.call(object, "value", name)));
  await expect.poll(() => valuesOf(erased)).toEqual([5, 4, ["in time"]]);
  expect(await valuesOf(open)).toEqual([null, 2, null]);
  await after[Symbol.asyncDispose]();
});

test("a run gets an error if another tree's key was destroyed, and continues", async () => {
  const given = environmentKeys({ REEVE_KEY: secretOf() });
  const erased = fresh();
  const engine = await worker({
    getRing: async (partition) =>
      partition === erased.key
        ? Promise.reject(new KeyDestroyedError({ partition }))
        : given.getRing(partition),
  });
  const { result } = await launch(engine, async (primitives) => {
    const { outcome } = await primitives.race(new Set([primitives.call(erased, "add", 1)]));
    return [outcome, await settle(primitives, primitives.call(primitives.launch.tree, "add", 1))];
  });
  const failure = { ok: false, error: { code: "key-destroyed", partition: erased.key } };
  expect(await result).toMatchObject([failure, 1]);
  await engine[Symbol.asyncDispose]();
});

async function statusOf(execution: string): Promise<unknown> {
  const answer = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: `SELECT status FROM sys_invocation WHERE id = '${execution}'` }),
  });
  const { rows } = Json.as<{ rows: { status: string }[] }>(Json.of(await answer.json()));
  return rows[0]?.status;
}
