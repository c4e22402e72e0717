import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { getErrorClasses } from "./kernel/error-classes.ts";

const guide = readFileSync("docs/guide/errors.md", "utf8");

/** The first cells of the table below a heading. */
function firstCells(heading: string): readonly string[] {
  const [, rest = ""] = guide.split(`\n## ${heading}\n`);
  const [section = ""] = rest.split("\n## ");
  return [...section.matchAll(/^\| `([\w-]+)`/gm)].map(([, code = ""]) => code).toSorted();
}

/** The texts that a source file has in quotes, between two marks. */
function quotedTexts(file: string, from: string, to: string): readonly string[] {
  const [, rest = ""] = readFileSync(file, "utf8").split(from);
  const [part = ""] = rest.split(to);
  return [...part.matchAll(/"([\w-]+)"/g)].map(([, text = ""]) => text).toSorted();
}

test("the guide lists the code of every error, with cause and remedy", async () => {
  const files = [
    "errors",
    "approval",
    "disabled-error",
    "backlog-full-error",
    "id-conflict-error",
    "input",
    "model-error",
    "program-error",
    "stored-value-error",
    "strategy-error",
    "turn-lost-error",
  ];
  const codes = files.flatMap((file) => {
    const source = readFileSync(`src/kernel/${file}.ts`, "utf8");
    return [...source.matchAll(/readonly code = "([\w-]+)"/g)].map(([, code = ""]) => code);
  });
  expect(firstCells("Codes of results and calls")).toEqual(codes.toSorted());
  const classes = await getErrorClasses();
  expect(codes).toHaveLength(classes.size);
});

test("the guide lists every kind of a model error", () => {
  const kinds = quotedTexts("src/kernel/model-error.ts", "type ModelErrorKind =", ";");
  expect(firstCells("Model errors")).toEqual(kinds);
});

test("the guide lists every code that the server alone has", () => {
  const codes = quotedTexts("src/server/http-error.ts", "type RefusalCode =", ";").filter(
    (code) => code !== "no-answer",
  );
  expect(firstCells("HTTP")).toEqual([...codes, "internal"].toSorted());
});
