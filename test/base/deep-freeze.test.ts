import { expect, test } from "vitest";
import { deepFreeze } from "../../src/base/index.ts";

test("everything in a value is frozen, and the value is the same one", () => {
  const value = { list: [{ n: 1 }], inner: { more: {} }, none: null, text: "a" };
  expect(deepFreeze(value)).toBe(value);
  expect(() => (value.list[0] = { n: 2 })).toThrow(TypeError);
  const parts = [value, value.list, value.list[0], value.inner, value.inner.more];
  expect(parts.map((part) => Object.isFrozen(part))).toEqual([true, true, true, true, true]);
});

test("an object below a frozen object is frozen, too", () => {
  const value = Object.freeze({ inner: Object.freeze({ list: [1] }) });
  deepFreeze(value);
  expect(Object.isFrozen(value.inner.list)).toBe(true);
});

test("freezing a cyclic value ends, whether or not it was frozen before", () => {
  const value: { self?: unknown; list: unknown[] } = { list: [] };
  value.self = value;
  value.list.push(value.list, value);
  expect(Object.isFrozen(deepFreeze(deepFreeze(value)).list)).toBe(true);
});

test("deepFreeze accepts a value with bytes, and returns a primitive unchanged", () => {
  const bytes = new Uint8Array([1]);
  expect(deepFreeze({ bytes }).bytes).toBe(bytes);
  expect([deepFreeze(null), deepFreeze("a"), deepFreeze(undefined)]).toEqual([null, "a", undefined]);
});
