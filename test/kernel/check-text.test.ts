import { expect, test } from "vitest";
import { isLine, toLine } from "#kernel";

const controls = ["\0", "\t", "\n", "\r", "\u001b", "\u007f", "\u0085", "\u009b"];

test.each(controls)("a text with the control character %j is no line, and is cleaned into one", (control) => {
  const text = `a${control}b${control}`;
  expect(isLine(text)).toBe(false);
  expect(toLine(text)).toBe("a\u{FFFD}b\u{FFFD}");
});

test.each(["", "Büro 7", "報告", "a\u{1F600}b", "a\u200bb"])("the text %j is a line and stays", (text) => {
  expect(isLine(text)).toBe(true);
  expect(toLine(text)).toBe(text);
});
