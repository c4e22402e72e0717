import { afterAll, beforeAll, expect, test } from "vitest";
import { type Engine, ForeignError, IdConflictError, Json } from "#kernel";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { fresh, program, tryHosts, tryTimes, waitUntil } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";

let server: RestateServer;
let engine: Engine;
let servedAt: number;

beforeAll(async () => {
  server = await restateServer();
  // Every wait is a replay.
  engine = restate({ ingress: server.ingress, admin: server.admin, inactivityTimeoutMs: 0 });
  engine.define(program);
  servedAt = Date.now();
  await engine.serve({ port: 0 });
});

afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test("a method changes its object and answers", async () => {
  const object = fresh();
  expect(await engine.call(object, "add", 2)).toBe(2);
  expect(await engine.call(object, "add", 3)).toBe(5);
  expect(await engine.call(object, "total", null)).toBe(5);
});

test("a method that throws changes no state and sends no messages", async () => {
  const object = fresh();
  await engine.call(object, "add", 2);
  await expect(engine.call(object, "addAndThrow", 40)).rejects.toThrow(object.key);
  expect(await engine.call(object, "add", 1)).toBe(3);
  expect(await engine.call({ ...object, key: `${object.key}-other` }, "total", null)).toBe(null);
});

test("an error of the runtime keeps its class across calls, from outside and through another object", async () => {
  const object = fresh();
  const direct = await engine.call(object, "addAndThrow", 1).catch((error: unknown) => error);
  expect(direct).toBeInstanceOf(IdConflictError);
  expect(direct).toMatchObject({ code: "id-conflict", id: object.key });
  const through = await engine.call(fresh(), "throwElsewhere", object.key).catch((error: unknown) => error);
  expect(through).toBeInstanceOf(IdConflictError);
  expect(through).toMatchObject({ code: "id-conflict", id: object.key });
});

test("an error of another program becomes a foreign error, and is not retried", async () => {
  const error = await engine.call(fresh(), "breakDown", null).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ForeignError);
  expect(error).toMatchObject({ kind: "RangeError", message: "out of bounds" });
});

test("reads see the writes and clears of the same call", async () => {
  const object = fresh();
  await engine.call(object, "add", 1);
  expect(await engine.call(object, "rewrite", null)).toEqual([1, 7, null]);
  expect(await engine.call(object, "total", null)).toBe(null);
});

test("a node that does not answer is skipped", async () => {
  const unreachable = `http://127.0.0.1:${await freePort()}`;
  const ingress = [unreachable, server.ingress];
  await using client = restate({ ingress, admin: server.admin, connectTimeoutMs: 5_000 });
  client.define(program);
  expect(await client.call(fresh(), "add", 2)).toBe(2);
});

test("the time of a call is the same in every try and replay, as is that since which its worker serves", async () => {
  const object = fresh();
  const others = [fresh().key, fresh().key, fresh().key];
  tryTimes.length = 0;
  tryHosts.length = 0;
  const began = Date.now();
  const [before, after] = Json.as<number[]>(await engine.call(object, "noteTimes", others));
  expect(tryTimes.length).toBeGreaterThan(3);
  expect(new Set([...tryTimes, before, after]).size).toBe(1);
  const [hostedSince, ...more] = new Set(tryHosts);
  expect(hostedSince).toBeGreaterThanOrEqual(servedAt);
  expect([Number(hostedSince) <= began, more]).toEqual([true, []]);
  expect(before).toBeGreaterThanOrEqual(began);
  expect(Number(before)).toBeLessThanOrEqual(Date.now());
  const [later] = Json.as<number[]>(await engine.call(object, "noteTimes", []));
  expect(later).toBeGreaterThanOrEqual(Number(before));
});

test("a query cannot write", async () => {
  const object = fresh();
  await expect(engine.call(object, "write", null)).rejects.toThrow("a query may only read");
  expect(await engine.call(object, "total", null)).toBe(null);
});

test("calls of one key take turns", async () => {
  const object = fresh();
  const totals = await Promise.all(Array.from({ length: 20 }, () => engine.call(object, "add", 1)));
  expect(totals.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
});

test("concurrent reads and calls of a method happen once although the method is replayed", async () => {
  const object = fresh();
  const keys = Array.from({ length: 5 }, (_, index) => `${object.key}-${index}`);
  expect(await engine.call(object, "addEverywhere", keys)).toEqual([1, 1, 1, 1, 1]);
  expect(await engine.call(object, "addEverywhere", keys)).toEqual([3, 3, 3, 3, 3]);
});

test("a delayed message arrives after its delay", async () => {
  const target = fresh();
  await engine.call(fresh(), "addElsewhereLater", target.key);
  expect(await waitUntil(engine, target, "total", (total) => total !== null)).toBe(1);
});

test("a key may hold any character", async () => {
  const object = { type: "counter", key: `${fresh().key}/a b?c%2F&#é` };
  expect(await engine.call(object, "add", 1)).toBe(1);
  expect(await engine.call(object, "total", null)).toBe(1);
});

test("a method that does not exist is an error, at once", async () => {
  await expect(engine.call(fresh(), "noSuchMethod", null)).rejects.toThrow("404");
});

test("a method lists names by prefix as it has changed them, a query as they are stored", async () => {
  const object = fresh();
  await engine.call(object, "addEverywhere", [`${object.key}/b`, `${object.key}/a`, "other"]);
  const [a, b, c] = ["a", "b", "c"].map((name) => `${object.key}/${name}`);
  const renamed = { from: b, to: c, prefix: `${object.key}/` };
  expect(await engine.call(object, "rename", renamed)).toEqual([
    [a, b],
    [a, c],
  ]);
  expect(await engine.call(object, "names", `${object.key}/`)).toEqual([a, c]);
});

test("waiting for a change ends with the signal's reason", async () => {
  const controller = new AbortController();
  const waiting = engine.waitForChange(fresh(), { signal: controller.signal });
  controller.abort(new RangeError("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("a sink's call is made once, however often the sink is retried", async () => {
  const object = fresh();
  await engine.call(object, "tally", 3);
  const said = await waitUntil<Json[]>(engine, object, "words", ({ length }) => length > 0);
  expect(said).toEqual([[1, 11, true]]);
  expect(await engine.call(object, "total", null)).toBe(11);
});
