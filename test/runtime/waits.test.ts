import { expect, test } from "vitest";
import { Waits } from "../../src/runtime/driver/waits.ts";

test("a wait that begins after all waits have ended ends at once, whatever was kept for it", async () => {
  const waits = new Waits();
  const before = waits.first(["a"]);
  waits.arrive("b", 1);
  const error = new Error("cancelled");
  waits.failAll(error);
  await expect(before).rejects.toBe(error);
  await expect(waits.first(["b"])).rejects.toBe(error);
  await expect(waits.first([], { at: 0 })).rejects.toBe(error);
  expect(waits.size).toBe(0);
});

test("what was kept is listed in the order of its arrival, key by key", async () => {
  const waits = new Waits();
  waits.arrive("signal/b", 1);
  waits.arrive("signal/a", 2);
  waits.arrive("reply/x", 3);
  waits.arrive("signal/b", 4);
  expect(waits.kept("signal/")).toEqual([
    { key: "signal/b", value: 1 },
    { key: "signal/b", value: 4 },
    { key: "signal/a", value: 2 },
  ]);
  expect(await waits.first(["signal/b"])).toEqual({ key: "signal/b", value: 1 });
  expect(waits.kept("signal/b")).toEqual([{ key: "signal/b", value: 4 }]);
});
