import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { agent, languageModel } from "reeve";
import type { RestateEngine } from "reeve/engines/restate";
import { scriptedModel, say } from "reeve/testing";
import { expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { ExitCode } from "../../src/cli/exit-code.ts";
import { FakeTerminal } from "./fake-terminal.ts";

type LanguageModel = Parameters<typeof languageModel>[0];

/** Each advised piece of code, type-checked. Placeholders are filled in. */
const code: Readonly<Record<string, (model: LanguageModel, engine: RestateEngine) => unknown>> = {
  "agent({ maxOutputTokens: 1 })": () =>
    agent({ name: "lead", model: scriptedModel([say("")]), maxOutputTokens: 1 }),
  "agent({ budget: { maxCostUsd: 1 } })": () =>
    agent({ name: "lead", model: scriptedModel([say("")]), budget: { maxCostUsd: 1 } }),
  "agent({ budget: { maxTokens: 1 } })": () =>
    agent({ name: "lead", model: scriptedModel([say("")]), budget: { maxTokens: 1 } }),
  "agent({ budget: { maxTurns: 1 } })": () =>
    agent({ name: "lead", model: scriptedModel([say("")]), budget: { maxTurns: 1 } }),
  "languageModel(model, { price: { input: 1, output: 1 } })": (model) =>
    languageModel(model, { price: { input: 1, output: 1 } }),
  "languageModel(model, { maxFileTokens: 1 })": (model) => languageModel(model, { maxFileTokens: 1 }),
  'languageModel(model, { allowOptions: ["openai.n"] })': (model) =>
    languageModel(model, { allowOptions: ["openai.n"] }),
  'engine.promote("build-7")': (_, engine) => engine.promote("build-7"),
};

/** Values for the placeholders of commands; elsewhere the value is 1. */
const values: Readonly<Record<string, string>> = {
  "<day, month or ever>": "day",
  "<json>": "null",
};

const folder = join(import.meta.dirname, "__snapshots__");
const screens = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));

/** Every hint on every tested screen, as a user would type it. */
const advice = [
  ...new Set(
    screens
      .flatMap((screen) => [...screen.matchAll(/→ (.*?)"?,?$/gm)].map(([, line = ""]) => line))
      // A text that a snapshot cut off at its end quote keeps its own.
      .map((line) => ((line.match(/"/g)?.length ?? 0) % 2 === 0 ? line : `${line}"`))
      .map((line) =>
        line
          .replace(/ # .*/, "")
          .replace(/^allow it with /, "")
          .replaceAll("\\", ""),
      )
      .map((line) => line.replaceAll(/<[^>]*>/g, (placeholder) => values[placeholder] ?? "1")),
  ),
];

test("the sources contain advice to check", () => {
  expect(advice.length).toBeGreaterThan(25);
});

test.each(advice.filter((line) => line.startsWith("reeve ")))("`%s` is a command", async (line) => {
  const words = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
  const terminal = new FakeTerminal({ environment: { REEVE_URL: "http://127.0.0.1:9" } });
  // No server, no Restate and no project are there: it was understood.
  const understood = [ExitCode.unreachable, ExitCode.notFound];
  expect(understood).toContain(await main(words.slice(1), terminal));
});

test.each(advice.filter((line) => !line.startsWith("reeve ")))("`%s` is code that compiles", (line) => {
  expect(Object.keys(code)).toContain(line);
});
