import * as fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson } from "../../src/base/index.ts";

const throughJsonText = (value: unknown): unknown => {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? null : JSON.parse(text);
};

test("a copy equals a round trip through JSON, for any value", () => {
  const anything = fc.anything({ withDate: true, withNullPrototype: true, withSparseArray: true });
  fc.assert(
    fc.property(anything, (value) => {
      expect(copyJson(value)).toEqual(throughJsonText(value));
      expect(JSON.stringify(copyJson(value))).toBe(JSON.stringify(throughJsonText(value)));
    }),
    { numRuns: 2_000 },
  );
});

test("a key that would set a prototype stays data of the copy", () => {
  const copy = Object(copyJson({ list: [JSON.parse('{"__proto__":{"admin":true},"a":1}')] })).list[0];
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(Object.keys(copy)).toEqual(["__proto__", "a"]);
  expect(copy.admin).toBeUndefined();
});

test("a value with toJSON is converted by it", () => {
  const price = { toJSON: () => "3 EUR" };
  expect(copyJson({ price, at: new Date(0) })).toEqual({ price: "3 EUR", at: "1970-01-01T00:00:00.000Z" });
});

test("a value that JSON cannot carry is refused", () => {
  expect(() => copyJson({ big: 1n })).toThrow(TypeError);
});

test("a sender cannot change a value after sending it", () => {
  const sent = { list: [{ n: 1 }] };
  const received = copyJson(sent);
  sent.list[0] = { n: 2 };
  expect(received).toEqual({ list: [{ n: 1 }] });
});
