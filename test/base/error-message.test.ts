import { expect, test } from "vitest";
import { errorMessage, toError } from "../../src/base/index.ts";

test("the message of an error is its own, that of any other value is its text", () => {
  expect([new TypeError("broken"), "broken", 7, null].map(errorMessage)).toEqual([
    "broken",
    "broken",
    "7",
    "null",
  ]);
});

test("an error is returned as it is, and any other value is wrapped in an error", () => {
  const error = new TypeError("broken");
  expect(toError(error)).toBe(error);
  expect(toError("broken")).toEqual(new Error("broken"));
});
