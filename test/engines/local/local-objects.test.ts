import { expect, test } from "vitest";
import { Json, type ObjectDefinition } from "#kernel";
import { LocalObjects } from "../../../src/engines/local/local-objects.ts";
import { LocalSinks } from "../../../src/engines/local/local-sinks.ts";
import { manualClock } from "reeve/testing";

const box: ObjectDefinition = {
  type: "box",
  methods: {
    put: (object, name) => {
      object.set(Json.as<string>(name), true);
      return null;
    },
    take: (object, name) => {
      object.clear(Json.as<string>(name));
      return null;
    },
    move: (object) => {
      const before = object.list("in/");
      object.clear("in/b");
      object.set("in/c", true);
      return [before, object.list("in/")];
    },
    fail: () => {
      throw new RangeError("no");
    },
  },
  finishedMark: "finished",
  queries: { names: (object, prefix) => object.list(Json.as<string>(prefix)) },
};

function createObjects(): LocalObjects {
  const world = {
    launch: () => ({ execution: "", begin: () => undefined }),
    wake: () => undefined,
    cancel: () => undefined,
    kill: () => undefined,
    later: () => undefined,
    now: () => 0,
    schedule: queueMicrotask,
  };
  const objects = new LocalObjects(world, new LocalSinks(manualClock(), new AbortController().signal));
  objects.define([box]);
  return objects;
}

const boxAt = (key: string) => ({ type: "box", key });

test("a method lists names by prefix as it has changed them", async () => {
  const objects = createObjects();
  const call = (method: string, argument: Json): Promise<Json> => objects.ask(boxAt("a"), method, argument);
  for (const name of ["in/b", "in/a", "out"]) await call("put", name);
  expect(await call("move", null)).toEqual([
    ["in/a", "in/b"],
    ["in/a", "in/c"],
  ]);
  expect(await call("names", "in/")).toEqual(["in/a", "in/c"]);
});

test("an object without state and without waiting callers is freed", async () => {
  const objects = createObjects();
  await objects.ask(boxAt("a"), "put", "x");
  await objects.ask(boxAt("b"), "names", "");
  await objects.ask(boxAt("c"), "fail", null).catch(() => undefined);
  expect(objects.size).toBe(1);
  const stop = new AbortController();
  const waiting = objects.waitForChange(boxAt("a"), { signal: stop.signal, name: "never" });
  await objects.ask(boxAt("a"), "take", "x");
  expect(objects.size).toBe(1);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  expect(objects.size).toBe(0);
});

test("the last 1,000 finished objects are kept", async () => {
  const objects = createObjects();
  await objects.ask(boxAt("lives"), "put", "x");
  for (let n = 0; n < 1_100; n++) {
    await objects.ask(boxAt(`tree ${n}`), "put", "x");
    await objects.ask(boxAt(`tree ${n}`), "put", "finished");
  }
  expect(objects.size).toBe(1_001);
  expect(await objects.ask(boxAt("tree 99"), "names", "")).toEqual([]);
  expect(await objects.ask(boxAt("tree 100"), "names", "")).toEqual(["finished", "x"]);
});
