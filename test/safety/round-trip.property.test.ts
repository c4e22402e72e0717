import * as fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson, hasInexactNumber } from "#base";
import type { Json } from "#kernel";
import { strictJson } from "../../src/models/strict-json.ts";

/** Strings of all code units: halves of characters, NUL, U+FFFE, marks of direction. */
const unit = fc.oneof(
  fc.constantFrom("\u0000", "\uD800", "\uDFFF", "\uFFFE", "\uFFFF", "\u202E", "\u2028", "\uFEFF", "\\", '"'),
  fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code)),
);
const texts = fc.array(fc.string({ unit, maxLength: 20 }), { minLength: 100, maxLength: 100 });

/** Converts a value to bytes of JSON and back, as a journal, a store or a wire does. */
const throughBytes = (value: Json): unknown => JSON.parse(Buffer.from(JSON.stringify(value)).toString());

test("100,000 texts of any characters are the same after a journal, and read from a model or refused", () => {
  let [same, refused] = [0, 0];
  fc.assert(
    fc.property(texts, (list) => {
      expect(throughBytes(list)).toEqual(list);
      expect(copyJson(list)).toEqual(list);
      for (const text of list) {
        const read = strictJson(JSON.stringify({ text }));
        expect(read).toEqual(text.isWellFormed() ? { value: { text } } : { malformed: "broken-text" });
        if ("value" in read) same += 1;
        else refused += 1;
      }
    }),
    { numRuns: 1_000 },
  );
  expect(same + refused).toBe(100_000);
  expect(Math.min(same, refused)).toBeGreaterThan(10_000);
});

/** Numbers as texts of JSON, small and beyond every limit. */
const digits = fc
  .integer({ min: 1, max: 340 })
  .chain((length) => fc.nat({ max: 9 }).map((one) => `${one || 1}`.repeat(length)));
const numbers = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(digits, fc.constantFrom("0", "0.0")),
    fc.option(fc.integer({ min: -400, max: 400 })),
  )
  .map(([sign, body, exponent]) => `${sign}${body}${exponent === null ? "" : `e${exponent}`}`);

const isInteger = (text: string): boolean => /^-?\d+$/u.test(text);
const digitsOf = (value: Json): bigint => BigInt(JSON.stringify(value).slice('{"n":'.length, -1));

test("20,000 numbers of a model are refused, or are the same after a journal", () => {
  let refused = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        numbers,
        fc.double().map((value) => JSON.stringify(value)),
        fc.maxSafeInteger().map(String),
      ),
      (text) => {
        const read = strictJson(`{"n":${text}}`);
        refused += "value" in read ? 0 : 1;
        const expected =
          "value" in read ? { value: throughBytes(read.value) } : { malformed: "inexact-number" };
        expect(read).toStrictEqual(expected);
        const isChanged = "value" in read && isInteger(text) && digitsOf(read.value) !== BigInt(text);
        expect(isChanged).toBe(false);
      },
    ),
    { numRuns: 20_000 },
  );
  expect(refused).toBeGreaterThan(1_000);
});

test("digits in a string stay a string", () => {
  expect(hasInexactNumber('{"id":"12345678901234567890","x":"\\"1e999"}')).toBe(false);
  expect(hasInexactNumber('{"id":"\\\\","n":12345678901234567890}')).toBe(true);
  expect(hasInexactNumber("[9007199254740991,1e300,0.1234567890123456789]")).toBe(false);
});
