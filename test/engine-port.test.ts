import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { engineSuite } from "reeve/testing/suites";

/** The interfaces that an engine implements or is given. */
const interfaces = [
  "Engine",
  "EngineProgram",
  "ObjectDefinition",
  "ObjectContext",
  "SinkDefinition",
  "ExecutionPrimitives",
  "Operation",
  "Epoch",
  "StepIo",
  "Sealing",
  "Seal",
];

const source = ["engine", "seal"].map((name) => readFileSync(`src/kernel/${name}.ts`, "utf8")).join("\n");
const page = readFileSync("docs/engine-port.md", "utf8");

function membersOf(name: string): readonly string[] {
  const body = source.split(`export interface ${name} {\n`)[1]?.split("\n}")[0] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\[[\w.]+\]|\w+)\??[(:]/gm)].map(([, member = ""]) => member);
}

/** The text below each heading that names a member. */
const entries = new Map(
  page.split(/^(?=#)/m).flatMap((section): readonly (readonly [string, string])[] => {
    const [, member, text = ""] = /^### `([^`]+)`\n(.*)$/s.exec(section) ?? [];
    return member === undefined ? [] : [[member, text]];
  }),
);

const linesOf = (text: string, kind: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^- ${kind}: (.+)$`, "gm"))].map(([, line = ""]) => line);

test("the page of the engine port has every member of the port, and no other", () => {
  const members = interfaces.flatMap((name) => membersOf(name).map((member) => `${name}.${member}`));
  expect(members).toContain("ExecutionPrimitives.race");
  expect(members).toContain("Engine.[Symbol.asyncDispose]");
  expect([...entries.keys()].toSorted()).toEqual(members.toSorted());
});

test("each member names a guarantee, and cases of the engine suite or tests that exist", () => {
  const cases = new Set(engineSuite.map(({ name }) => name));
  for (const [member, text] of entries) {
    const [named, tests] = [linesOf(text, "Case"), linesOf(text, "Test")];
    const missing = [
      ...named.filter((name) => !cases.has(name)),
      ...tests.filter((path) => !existsSync(path.replaceAll("`", ""))),
    ];
    const guarantee = !text.trim().startsWith("- ");
    expect({ member, missing, guarantee }).toEqual({ member, missing: [], guarantee: true });
    expect([member, ...named, ...tests].length).toBeGreaterThan(1);
  }
});
