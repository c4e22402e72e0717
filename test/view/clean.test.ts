import { expect, test } from "vitest";
import { clean, cleanLines } from "../../src/view/index.ts";

test.each([
  ["a\u001B[2Jb\u009B31mc", "a [2Jb 31mc"],
  ["pay\u200Bpal\uFEFF\u2060.com\u00AD", "pay pal .com"],
  ["\u202Egnp.exe\u061C", "gnp.exe"],
  ["line\u2028line\r\nline", "line line line"],
  ["می\u200Cخواهم 👩\u200D💻 Grüße", "می\u200Cخواهم 👩\u200D💻 Grüße"],
])("one line moves no cursor and hides no character: %j", (text, shown) => {
  expect(clean(text)).toBe(shown);
});

test("lines stay lines", () => {
  expect(cleanLines("a\tb\r\nc\u200Bd\n")).toEqual(["a  b", "c d", ""]);
});
