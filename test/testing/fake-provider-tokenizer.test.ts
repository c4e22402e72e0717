import * as fc from "fast-check";
import { expect, test } from "vitest";
import { countTokens } from "../../src/testing/fake-provider/index.ts";
import { cutText, pieces } from "../../src/testing/fake-provider/tokenizer.ts";

const texts = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom("a", " ", "水", "の", "한", "7", ".", "\n", "é", "🌊", "\ud800"),
    maxLength: 60,
  }),
);

test.each([
  ["", 0],
  ["pump", 1],
  ["the pump", 2],
  ["riverside", 3],
  ["It was built in 1812.", 8],
  ['{"a":1}', 7],
  ["   \n", 1],
  ["🌊", 2],
])("%j makes %i tokens", (text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});

test("a text never makes more tokens than it has bytes", () => {
  const holds = fc.property(texts, (text) => {
    expect(countTokens(text)).toBeLessThanOrEqual(Buffer.byteLength(text));
  });
  fc.assert(holds, { numRuns: 2_000 });
});

test("the tokens of a text are the sum of the tokens of its pieces", () => {
  const holds = fc.property(texts, (text) => {
    expect(pieces(text).join("")).toBe(text);
  });
  fc.assert(holds, { numRuns: 2_000 });
});

test("a cut text is the longest prefix that fits", () => {
  const holds = fc.property(texts, fc.nat(40), (text, budget) => {
    const cut = cutText(text, budget);
    expect(text.startsWith(cut.text)).toBe(true);
    expect(cut.tokens).toBeLessThanOrEqual(budget);
    expect(cut.complete).toBe(cut.text === text);
    expect(cut.complete || cut.tokens >= budget - 1).toBe(true);
  });
  fc.assert(holds, { numRuns: 2_000 });
});
