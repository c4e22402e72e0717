import { getEventListeners } from "node:events";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { withTimeout } from "../../src/base/index.ts";

const tooLate = (): never => {
  throw new Error("too late");
};

const broken = (): never => {
  throw new Error("broken at once");
};

const neverEnds = (): Promise<never> => new Promise(() => undefined);

test("a call that ends in time returns its result, and leaves neither a timer nor a listener", async () => {
  const clock = manualClock();
  const { signal } = new AbortController();
  const limits = { clock, ms: 100, onTimeout: tooLate, signal };
  expect(await withTimeout(limits, async () => "done")).toBe("done");
  await expect(withTimeout(limits, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  await expect(withTimeout(limits, broken)).rejects.toThrow("broken at once");
  expect([clock.waiting, getEventListeners(signal, "abort").length]).toEqual([0, 0]);
});

test("a call that takes too long fails with the error of onTimeout, which is also its signal's reason", async () => {
  const clock = manualClock();
  const outer = new AbortController();
  let seen: AbortSignal | null = null;
  const call = withTimeout({ clock, ms: 100, onTimeout: tooLate, signal: outer.signal }, ({ signal }) => {
    seen = signal;
    return neverEnds();
  });
  const ended = call.catch((error: unknown) => error);
  await clock.advance(99);
  expect(seen).toMatchObject({ aborted: false });
  await clock.advance(1);
  expect(await ended).toEqual(new Error("too late"));
  expect(seen).toMatchObject({ aborted: true, reason: new Error("too late") });
  expect(getEventListeners(outer.signal, "abort")).toEqual([]);
});

test("a timeout can return a result, and the call's signal still aborts", async () => {
  const clock = manualClock();
  const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
  const call = withTimeout({ clock, ms: 100, onTimeout: () => "gave up" }, ({ signal }) => {
    signal.addEventListener("abort", () => resolve(signal.reason));
    return neverEnds();
  });
  await clock.advance(100);
  expect(await call).toBe("gave up");
  expect(await aborted).toMatchObject({ name: "TimeoutError" });
});

test("the caller's signal ends the call with its reason; after an earlier abort nothing begins", async () => {
  const clock = manualClock();
  const outer = new AbortController();
  const limits = { clock, ms: 100, onTimeout: tooLate, signal: outer.signal };
  let inner: AbortSignal | null = null;
  const call = withTimeout(limits, ({ signal }) => {
    inner = signal;
    return neverEnds();
  });
  outer.abort(new Error("stopped"));
  await expect(call).rejects.toThrow("stopped");
  expect(inner).toMatchObject({ aborted: true, reason: new Error("stopped") });
  let calls = 0;
  await expect(withTimeout(limits, async () => (calls += 1))).rejects.toThrow("stopped");
  expect([calls, clock.waiting]).toEqual([0, 0]);
});

test("a signal that is read only after the end of its time is aborted", async () => {
  const clock = manualClock();
  const calls: { readonly signal: AbortSignal }[] = [];
  const call = withTimeout({ clock, ms: 100, onTimeout: () => null }, (limited) => {
    calls.push(limited);
    return neverEnds();
  });
  await clock.advance(100);
  await call;
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([true]);
});

test("the result of a call after its timeout is dropped", async () => {
  const clock = manualClock();
  const { promise, reject } = Promise.withResolvers<string>();
  const call = withTimeout({ clock, ms: 100, onTimeout: () => "gave up" }, () => promise);
  await clock.advance(100);
  reject(new Error("late failure"));
  expect(await call).toBe("gave up");
});

test("a timeout that is not a number of at least 0 is refused, and lets nothing begin", async () => {
  const clock = manualClock();
  let calls = 0;
  for (const ms of [-1, Number.NaN])
    await expect(withTimeout({ clock, ms, onTimeout: tooLate }, async () => (calls += 1))).rejects.toThrow(
      RangeError,
    );
  expect([calls, clock.waiting]).toEqual([0, 0]);
});
