import { globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import vitestConfig from "../vitest.config.ts";
import { isFull, sample } from "./effort.ts";
import { projects, scripts, testFiles, type Script } from "../.ci/parts.ts";

const files = globSync("**/*.{test,spec}.{ts,tsx,mts,js,mjs}", {
  exclude: (name) => /^(?:node_modules|dist|package|\.git)$/.test(name),
});

const matches = (file: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => matchesGlob(file, pattern));

/** The projects of a script that run a file. */
const projectsOf = (file: string, script: Script): readonly string[] =>
  projects.filter((project) => {
    const { include, exclude } = testFiles(project, script);
    const isRun = scripts[script].some(({ command }) => command.includes(`REEVE_TESTS=${project} `));
    return isRun && matches(file, include) && !matches(file, exclude);
  });

test("`.ci/full` runs every test file, once", () => {
  expect(files.length).toBeGreaterThan(400);
  const wrong = files.filter((file) => projectsOf(file, "full").length !== 1);
  expect(wrong).toEqual([]);
});

test("`.ci/run` runs every test file that is not named as one for `.ci/full`, in the same project", () => {
  for (const file of files)
    expect([file, projectsOf(file, "run")]).toEqual([
      file,
      file.endsWith(".full.test.ts") ? [] : projectsOf(file, "full"),
    ]);
});

test("a unit test that is held to a time is in a file that `.ci/full` runs alone", () => {
  const timed = files.filter(
    (file) =>
      projectsOf(file, "full").includes("unit") && /\bexpectWithin\(/.test(readFileSync(file, "utf8")),
  );
  expect(timed.filter((file) => !file.endsWith(".timed.test.ts"))).toEqual([]);
  expect(files.filter((file) => file.endsWith(".timed.test.ts"))).toEqual(timed);
});

test("a sample is a share of the cases in their order, and at least one", () => {
  const cases = Array.from({ length: 20 }, (_, index) => index);
  expect(sample(cases, 0.01)).toHaveLength(isFull ? 20 : 1);
  const half = sample(cases, 0.5);
  expect(half).toHaveLength(isFull ? 20 : 10);
  expect(half).toEqual(half.toSorted((one, other) => one - other));
  expect(sample([], 0.5)).toEqual([]);
});

test("no test has a longer time limit than the common one, after which it counts as hanging", () => {
  const limit = /^\s*(?:\}, )?(?:[6-9]\d|\d{3,})_000(?:\);|,)$|timeout: (?:[6-9]\d|\d{3,})_000/m;
  expect(files.filter((file) => limit.test(readFileSync(file, "utf8")))).toEqual([]);
});

test("no helper registers a hook when it is loaded, because files share a process and load it once", () => {
  const { isolate, setupFiles } = vitestConfig.test ?? {};
  expect(isolate).toBe(false);
  const helpers = globSync("test/**/*.ts", {
    exclude: ["test/browser/**", "test/mutation/**", "**/*.test.ts", ...[setupFiles ?? []].flat()],
  });
  const hook = /^(?:before|after)(?:All|Each)\(/m;
  expect(helpers.filter((file) => hook.test(readFileSync(file, "utf8")))).toEqual([]);
});

test.each([
  ["ci", "run"],
  ["full", "full"],
] as const)("the jobs of the workflow %s run every part of `.ci/%s`", (workflow, script) => {
  const { jobs }: { readonly jobs: Readonly<Record<string, Job>> } = parse(
    readFileSync(`.github/workflows/${workflow}.yml`, "utf8"),
  );
  const listed = jobs[script]?.strategy.matrix.parts.flatMap((parts) => parts.split(" "));
  expect(listed?.toSorted()).toEqual(scripts[script].map(({ name }) => name).toSorted());
});

interface Job {
  readonly strategy: { readonly matrix: { readonly parts: readonly string[] } };
}
