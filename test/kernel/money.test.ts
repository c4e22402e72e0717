import * as fc from "fast-check";
import { Money, Price } from "#kernel";
import { Usage } from "reeve";
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
  { input: 2, output: 0, cachedInput: 1, cacheWrite: 2 },
])("the usage %j cannot be booked", (usage) => {
  expect(Usage.isSane(usage)).toBe(false);
});

const tiered: Price = {
  input: 1_000_000,
  output: 5_000_000,
  cachedInput: 100_000,
  cacheWrite: 1_250_000,
  request: 3,
  tiers: [
    { aboveInputTokens: 500, input: 4_000_000, output: 8_000_000 },
    { aboveInputTokens: 100, input: 2_000_000, output: 10_000_000 },
  ],
};

test("a call is priced by the tier of its prompt, with cache writes and the request", () => {
  expect(Usage.cost({ input: 100, output: 10 }, tiered)).toBe(100 + 50 + 3);
  expect(Usage.cost({ input: 100, cachedInput: 50, cacheWrite: 40, output: 0 }, tiered)).toBe(
    10 + 5 + 50 + 3,
  );
  expect(Usage.cost({ input: 101, output: 10 }, tiered)).toBe(202 + 100 + 3);
  expect(Usage.cost({ input: 501, output: 10 }, tiered)).toBe(2004 + 80 + 3);
  expect(Usage.cost(Usage.none, tiered)).toBe(0);
});

test("no call of at most so many tokens costs more than its ceiling", () => {
  const rate = fc.integer({ min: 0, max: 100_000_000 });
  const rates = { input: rate, output: rate, cachedInput: rate, cacheWrite: rate };
  const tier = fc.record({ aboveInputTokens: fc.integer({ min: 0, max: 1_000 }), ...rates });
  const price = fc.record({ ...rates, request: rate, tiers: fc.array(tier, { maxLength: 3 }) });
  const part = fc.integer({ min: 0, max: 500 });
  fc.assert(
    fc.property(price, part, part, part, part, part, (of, fresh, cachedInput, cacheWrite, output, more) => {
      const usage = { input: fresh + cachedInput + cacheWrite, cachedInput, cacheWrite, output };
      const ceiling = Price.maxCost(of, { input: usage.input + more, output: output + more });
      expect(Usage.cost(usage, of)).toBeLessThanOrEqual(ceiling);
    }),
  );
});
