import { Json, NotFoundError, RetryableError, type BatchedReply, type ObjectDefinition } from "#kernel";
import { describe, expect, test } from "vitest";
import { withBatch } from "../../src/tree/methods/batch.ts";
import { LazyObject } from "./lazy-object.ts";
import { LazyTree } from "./lazy-tree.ts";

const notes = withBatch({
  type: "notes",
  methods: {
    add: (object, argument) => {
      const { name, fails = null } = Json.as<{ readonly name: string; readonly fails?: string }>(argument);
      const before = object.get(name);
      object.set(name, [...Json.as<readonly Json[]>(before ?? []), "x"]);
      object.send({ type: "notes", key: "other" }, "add", name);
      object.cancel(name);
      if (fails === "not-found") throw new NotFoundError({ what: "note", id: name });
      if (fails === "bug") throw new TypeError("a bug");
      if (fails === "retryable") throw new RetryableError({ message: "later" });
      return object.get(name);
    },
  },
  queries: {},
});

function callBatch(
  definition: ObjectDefinition,
  object: LazyObject,
  calls: readonly { readonly name: string; readonly fails?: string }[],
): readonly BatchedReply[] {
  const method = definition.methods[definition.batchMethod ?? ""];
  if (!method) throw new Error("no batches");
  const given = calls.map((argument) => ({ method: "add", argument }));
  return Json.as(object.call(method, { calls: given }).result);
}

describe("a batch of calls", () => {
  test("runs in order: each call sees the writes of the earlier ones", () => {
    const object = new LazyObject("k");
    const replies = callBatch(notes, object, [{ name: "a" }, { name: "b" }, { name: "a" }]);
    expect(replies).toEqual([{ value: ["x"] }, { value: ["x"] }, { value: ["x", "x"] }]);
    expect(object.sent.map(({ argument }) => argument)).toEqual(["a", "b", "a"]);
  });

  test("keeps no writes of a call that throws, and makes the others", () => {
    const object = new LazyObject("k");
    const replies = callBatch(notes, object, [
      { name: "a" },
      { name: "a", fails: "not-found" },
      { name: "b", fails: "bug" },
      { name: "a" },
    ]);
    expect(replies).toEqual([
      { value: ["x"] },
      { error: expect.objectContaining({ code: "not-found" }) },
      { error: expect.objectContaining({ code: "foreign", message: "a bug" }) },
      { value: ["x", "x"] },
    ]);
    expect(object.keys("")).toEqual(["a"]);
    expect(object.sent).toHaveLength(2);
    expect(object.cancelled).toEqual(["a", "a"]);
  });

  test("is refused as a whole if one call cannot be answered here", () => {
    const object = new LazyObject("k");
    expect(() => callBatch(notes, object, [{ name: "a" }, { name: "b", fails: "retryable" }])).toThrow(
      RetryableError,
    );
    expect(object.keys("")).toEqual([]);
  });

  test("treats a missing method like a call that throws", () => {
    const tree = new LazyTree({ maxAgents: 4 });
    const { replies } = tree.batch([{ method: "nope", argument: {} }, tree.spawnCall()]);
    expect(replies).toEqual([
      { error: expect.objectContaining({ code: "not-found" }) },
      { value: { reply: { run: tree.child(1) } } },
    ]);
  });

  test("admits children in order until no slot is free", () => {
    const tree = new LazyTree({ maxAgents: 3 });
    const { replies } = tree.batch(Array.from({ length: 3 }, () => tree.spawnCall()));
    expect(replies).toMatchObject([
      { value: { reply: { run: tree.child(1) } } },
      { value: { reply: { run: tree.child(2) } } },
      { value: { reply: { error: { code: "budget-exhausted" } } } },
    ]);
    expect(tree.events("spawn.admitted").map(({ child }) => child)).toEqual([tree.child(1), tree.child(2)]);
  });

  test("fetches the reads of its calls together", () => {
    const tree = new LazyTree({ maxAgents: 21 });
    const [first] = tree.spawn(1);
    const { roundTrips } = tree.batch(Array.from({ length: 10 }, () => tree.spawnCall()));
    // A launch is a round trip of its own.
    expect(roundTrips).toBeLessThanOrEqual((first?.roundTrips ?? 0) + 9);
  });
});
