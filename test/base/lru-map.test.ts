import assert from "node:assert/strict";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LruMap } from "../../src/base/index.ts";

const names = ["a", "b", "c", "d", "e"];

const keysIn = (map: LruMap<string, number>): string => names.filter((key) => map.has(key)).join("");

test("the least recently used entry is dropped: reading and writing are use, asking is not", () => {
  const map = new LruMap<string, number>({ max: 3 });
  for (const key of ["a", "b", "c"]) map.set(key, 1);
  map.get("a");
  map.set("b", 2);
  map.has("c");
  map.set("d", 1);
  expect(keysIn(map)).toBe("abd");
  expect(map.get("b")).toBe(2);
});

test("an entry is created once, and again after it was dropped", () => {
  const map = new LruMap<string, number>({ max: 1 });
  let created = 0;
  const create = (): number => ++created;
  expect([map.getOrCreate("a", create), map.getOrCreate("a", create)]).toEqual([1, 1]);
  map.set("b", 0);
  expect(map.getOrCreate("a", create)).toBe(2);
});

test("falsy values are kept like other values", () => {
  const map = new LruMap<string, number>({ max: 2 });
  map.set("a", 0);
  map.set("b", 0);
  expect(map.get("a")).toBe(0);
  map.set("c", 0);
  expect(keysIn(map)).toBe("ac");
});

test("sizes are bounded together, and a value over the bound replaces nothing but itself", () => {
  const map = new LruMap<string, number>({ max: 9, maxSize: 10, sizeOf: (value) => value });
  map.set("a", 4);
  map.set("b", 4);
  map.set("c", 4);
  expect(keysIn(map)).toBe("bc");
  map.set("c", 11);
  expect(keysIn(map)).toBe("b");
  map.set("b", 1);
  map.set("d", 9);
  expect(keysIn(map)).toBe("bd");
  map.delete("d");
  map.set("e", 9);
  expect(keysIn(map)).toBe("be");
});

test("the owner is notified of dropped entries, not of deleted or replaced ones", () => {
  const dropped: [string, number][] = [];
  const map = new LruMap<string, number>({ max: 2, onEvict: (...entry) => dropped.push(entry) });
  map.set("a", 1);
  map.set("a", 2);
  map.set("b", 1);
  map.delete("b");
  map.set("c", 1);
  map.set("d", 1);
  expect(dropped).toEqual([["a", 2]]);
});

test("the map holds the same entries as a list in order of use", () => {
  const operation = fc.record({
    kind: fc.constantFrom("get", "set", "delete"),
    key: fc.constantFrom(...names),
    value: fc.nat({ max: 6 }),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
      const map = new LruMap<string, number>({ max: 3, maxSize: 12, sizeOf: (value) => value });
      let list: (readonly [string, number])[] = [];
      for (const { kind, key, value } of operations) {
        const known = list.find(([name]) => name === key);
        const others = list.filter((entry) => entry !== known);
        if (kind === "get") {
          assert.equal(map.get(key), known?.[1]);
          list = known ? [...others, known] : others;
        } else if (kind === "delete") {
          map.delete(key);
          list = others;
        } else {
          map.set(key, value);
          list = [...others, [key, value]];
          while (list.length > 3 || list.reduce((sum, [, size]) => sum + size, 0) > 12) list = list.slice(1);
        }
        expect(keysIn(map)).toBe(
          list
            .map(([name]) => name)
            .toSorted()
            .join(""),
        );
      }
    }),
  );
});
