import { expect, test } from "vitest";
import { backoffMs, seededRandom } from "../../src/base/index.ts";

const firstDelays = (count: number, options: Parameters<typeof backoffMs>[1]): readonly number[] =>
  Array.from({ length: count }, (_, retry) => backoffMs(retry, options));

test("each delay is twice the one before, without a limit", () => {
  expect(firstDelays(5, { firstMs: 2_000 })).toEqual([2_000, 4_000, 8_000, 16_000, 32_000]);
});

test("growth and limit can be set, and after any number of retries the delay is at most the limit", () => {
  const options = { firstMs: 100, factor: 1.5, maxMs: 300 };
  expect(firstDelays(5, options)).toEqual([100, 150, 225, 300, 300]);
  expect(backoffMs(Infinity, options)).toBe(300);
});

const delayWithJitter = (random: number): number =>
  backoffMs(3, { firstMs: 100, maxMs: 500, jitter: { share: 0.25, random: () => random } });

test("jitter changes a delay by its share in either direction, even at the limit", () => {
  expect([0, 0.5, 1].map(delayWithJitter)).toEqual([375, 500, 625]);
});

const delays = (seed: string): readonly number[] =>
  firstDelays(3, { firstMs: 100, jitter: { share: 0.2, random: seededRandom(seed) } });

test("the same seed gives the same delays", () => {
  expect(delays("a")).toEqual(delays("a"));
  expect(delays("a")).not.toEqual(delays("b"));
});
