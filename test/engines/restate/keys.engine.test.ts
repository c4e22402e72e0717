import { randomBytes } from "node:crypto";
import { type Log, type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Engine, Json, KeyDestroyedError, type Keys, SealBrokenError } from "#kernel";
import { Seal, environmentKeys } from "#sealing";
import { fresh, launch, program, settle } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";

let server: RestateServer;
let port: number;

beforeAll(async () => {
  server = await restateServer();
  port = await freePort();
}, 60_000);

afterAll(() => server[Symbol.asyncDispose]());

const secretOf = (): string => randomBytes(32).toString("base64");

/** A client of the counters. */
function client(keys: Keys, log: Log = () => {}): Engine {
  const engine = restate({ ...server, keys, inactivityTimeoutMs: 0, log });
  engine.define(program);
  return engine;
}

/** A worker for them. On one port, since a run goes back to where it began. */
async function worker(keys: Keys, log?: Log): Promise<Engine> {
  const engine = client(keys, log);
  await engine.serve({ port });
  return engine;
}

function post(key: string, body: Uint8Array): Promise<Response> {
  return fetch(`${server.ingress}/reeve.counter/${key}/add`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from(body),
  });
}

test("a caller with another key is refused, and told for which tree", async () => {
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

test("state that the worker's key does not open is never read as something else: it waits, loudly", async () => {
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
  const said = `cannot open what is kept for ${tree.key}: unknown-key`;
  await expect.poll(() => log.some((line) => line.includes(said)), { timeout: 10_000 }).toBe(true);
  await stranger[Symbol.asyncDispose]();
  expect(await waiting).toContain("closed");
  const right = await worker(environmentKeys({ REEVE_KEY: second, REEVE_KEY_PREVIOUS: first }));
  expect(await right.call(tree, "total", null)).toBe(5);
  await right[Symbol.asyncDispose]();
}, 60_000);

test("a new key takes over while a run waits: the run is replayed and goes on", async () => {
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
}, 60_000);

test("what was sealed for one tree is refused by another", async () => {
  const keys = environmentKeys({ REEVE_KEY: secretOf() });
  const engine = await worker(keys);
  const [one, other] = [fresh().key, fresh().key];
  const argument = Seal.of(one, await keys.of(one)).seal(Buffer.from("3"));
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

test("a tree whose key was destroyed says so to everybody, and its run is not tried for ever", async () => {
  const given = environmentKeys({ REEVE_KEY: secretOf() });
  const destroyed = new Set<string>();
  const keys: Keys = {
    of: async (partition) =>
      destroyed.has(partition) ? Promise.reject(new KeyDestroyedError({ partition })) : given.of(partition),
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
  await expect.poll(() => statusOf(execution), { timeout: 20_000 }).toBe("completed");
  await remembers[Symbol.asyncDispose]();
  await after[Symbol.asyncDispose]();
}, 60_000);

test("a run is told that another tree's key was destroyed, and goes on", async () => {
  const given = environmentKeys({ REEVE_KEY: secretOf() });
  const erased = fresh();
  const engine = await worker({
    of: async (partition) =>
      partition === erased.key ? Promise.reject(new KeyDestroyedError({ partition })) : given.of(partition),
  });
  const { result } = await launch(engine, async (primitives) => {
    const { outcome } = await primitives.pick([primitives.call(erased, "add", 1)]);
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
