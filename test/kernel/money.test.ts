import * as fc from "fast-check";
import { Money, Usage } from "reeve/kernel";
import { expect, test } from "vitest";

test("caps round down and charges round up", () => {
  expect(Money.cap(0.000_000_9)).toBe(0);
  expect(Money.cap(1.234_567_9)).toBe(1_234_567);
  expect(Money.charge(1, 100_000)).toBe(1);
});

test("a cap in dollars is exact to the micro-dollar, whatever binary fractions do", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (micros) => {
      expect(Money.cap(micros / 1_000_000)).toBe(micros);
    }),
  );
});

test("a call is priced with one rounding: cached input at its own price, reasoning inside the output", () => {
  const price = { input: 3_000_000, output: 15_000_000, cachedInput: 300_000 };
  expect(Usage.cost({ input: 1000, cachedInput: 900, output: 10 }, price)).toBe(300 + 270 + 150);
  expect(Usage.cost({ input: 1, output: 1 }, { input: 100_000, output: 100_000 })).toBe(1);
});

test.each([
  { input: -1, output: 0 },
  { input: Number.NaN, output: 0 },
  { input: 1.5, output: 0 },
  { input: 1, output: Infinity },
  { input: 1, output: 0, cachedInput: 2 },
])("the usage %j cannot be booked", (usage) => {
  expect(Usage.isSane(usage)).toBe(false);
});
