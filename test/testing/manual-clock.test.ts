import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";

test("time moves only on request, and then due sleepers wake, earliest first", async () => {
  const clock = manualClock(1_000);
  const heard: string[] = [];
  void clock.waitUntil(1_300).then(() => heard.push("late"));
  void clock.waitUntil(1_100).then(async () => {
    heard.push(`early at ${clock.now()}`);
    await clock.waitUntil(1_200);
    heard.push(`again at ${clock.now()}`);
  });
  expect(clock.now()).toBe(1_000);
  await clock.advance(250);
  expect(heard).toEqual(["early at 1100", "again at 1200"]);
  expect(clock.now()).toBe(1_250);
  await clock.advance(50);
  expect(heard.at(-1)).toBe("late");
});

test("an abort ends a wait with the signal's reason", async () => {
  const clock = manualClock();
  const stop = new AbortController();
  const waiting = clock.waitUntil(clock.now() + 1, stop.signal);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  expect(clock.waiting).toBe(0);
});
