import { RunId, TreeId } from "#kernel";
import { expect, test } from "vitest";
import { Waits } from "../../src/run/driver/waits.ts";

test("a wait that begins after all waits have ended ends at once, whatever was kept for it", async () => {
  const waits = new Waits();
  const before = waits.first(["a"]);
  waits.arrive("b", 1);
  const error = new Error("cancelled");
  waits.failAll(error, () => Promise.reject(error));
  await expect(before).rejects.toBe(error);
  await expect(waits.first(["b"])).rejects.toBe(error);
  await expect(waits.first([], { at: 0 })).rejects.toBe(error);
  expect(waits.size).toBe(0);
});

test("waiting values are listed in the order of their arrival, key by key", async () => {
  const waits = new Waits();
  waits.arrive("signal/b", 1);
  waits.arrive("signal/a", 2);
  waits.arrive("reply/x", 3);
  waits.arrive("signal/b", 4);
  expect(waits.listKept("signal/")).toEqual([
    { key: "signal/b", value: 1 },
    { key: "signal/b", value: 4 },
    { key: "signal/a", value: 2 },
  ]);
  expect(await waits.first(["signal/b"])).toEqual({ key: "signal/b", value: 1 });
  expect(waits.listKept("signal/b")).toEqual([{ key: "signal/b", value: 4 }]);
});

test("a run counts as waiting for other runs only if it waits for nothing else", () => {
  const waits = new Waits();
  expect(waits.on).toBeNull();
  const [first, second] = [1, 2].map((number) => RunId.of(TreeId.of("t"), number));
  void waits.first(["ended/1"], { on: first ?? null });
  void waits.first(["ended/2"], { on: second ?? null });
  expect(waits.on).toEqual([first, second]);
  void waits.first(["signal/a"]);
  expect(waits.on).toBeNull();
});
