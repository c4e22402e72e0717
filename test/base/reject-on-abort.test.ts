import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { rejectOnAbort } from "../../src/base/index.ts";

test("an abort, even an earlier one, ends the wait with its reason", async () => {
  const stop = new AbortController();
  const waiting = rejectOnAbort(new Promise(() => undefined), stop.signal);
  stop.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  await expect(rejectOnAbort(Promise.reject(new Error("late")), stop.signal)).rejects.toThrow("stopped");
});

test("work that ends first gives its outcome and leaves no listener", async () => {
  const { signal } = new AbortController();
  expect(await rejectOnAbort(Promise.resolve(1), signal)).toBe(1);
  await expect(rejectOnAbort(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
