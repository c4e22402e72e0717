import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanQuestion } from "#kernel";
import { type Json, type Tool } from "reeve";
import { askHuman, fetchTool, files } from "reeve/tools";
import { expect, test } from "vitest";
import { cpuMs } from "../cpu-time.ts";
import { expectWithin } from "../effort.ts";

const root = mkdtempSync(join(tmpdir(), "reeve-loop-"));
const { read, write } = files(root);
rmSync(root, { recursive: true });

const fields = Array.from({ length: 20 }, (_, index) => ({ name: `f${index}`, type: "text" }));
const form = { question: "q".repeat(5_000), fields };

/** Inputs at the limits, and beyond them. */
const inputs: readonly (readonly [string, Tool, Json])[] = [
  ["a path of many names", read, { path: "a/".repeat(512) }],
  ["a path of percent signs", read, { path: "%".repeat(1_024) }],
  ["a path of a megabyte", read, { path: "../".repeat(333_333) }],
  ["a text of a megabyte", write, { path: "a", text: "é".repeat(500_000) }],
  ["a text of ten megabytes", write, { path: "a", text: "x".repeat(10_000_000) }],
  ["a long address", fetchTool(), { url: `https://${"a.".repeat(2_000)}example.com/` }],
  ["an address of a megabyte", fetchTool(), { url: `https://${"@".repeat(1_000_000)}` }],
  ["a form", askHuman(), form],
];

/** The shortest of some measurements: the first may pay for compiling. */
const shortest = (act: () => void): number => Math.min(...Array.from({ length: 5 }, () => cpuMs(act)));

test.each(inputs)("checking %s holds the event loop for less than 20 ms", (_, tool, input) => {
  expectWithin(
    20,
    shortest(() => void tool.input["~standard"].validate(input)),
  );
});

test("checking an answer holds the event loop for less than 20 ms", () => {
  const answer = Object.fromEntries(fields.map(({ name }) => [name, "x".repeat(10_000)]));
  expect(HumanQuestion.checkAnswer(form, answer)).toBe(null);
  expectWithin(
    20,
    shortest(() => void HumanQuestion.checkAnswer(form, answer)),
  );
});
