import { expect, test } from "vitest";
import { errorMessage, toError } from "../../src/base/index.ts";

test("an error returns its message, any other value its text", () => {
  expect([new TypeError("broken"), "broken", 7, null].map(errorMessage)).toEqual([
    "broken",
    "broken",
    "7",
    "null",
  ]);
});

test("an error stays itself, anything else becomes one", () => {
  const error = new TypeError("broken");
  expect(toError(error)).toBe(error);
  expect(toError("broken")).toEqual(new Error("broken"));
});
