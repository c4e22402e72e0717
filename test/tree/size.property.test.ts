import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findExcess } from "../../src/tree/state/size.ts";

test("a value is too large exactly if its JSON text has more bytes than the limit", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 });
  const value = fc.jsonValue({ maxDepth: 5, stringUnit: "binary" });
  fc.assert(
    fc.property(fc.oneof(text, value), fc.integer({ min: 0, max: 600 }), (given, limit) => {
      const bytes = Buffer.byteLength(JSON.stringify(given));
      expect(findExcess("the value", given, limit)?.bytes ?? null).toBe(bytes > limit ? bytes : null);
    }),
    { numRuns: 2_000 },
  );
});
