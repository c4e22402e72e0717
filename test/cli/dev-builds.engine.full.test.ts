import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../free-port.ts";
import { type Command, DevProject } from "./dev-project.ts";

let project: DevProject;
let dev: Command;
let file: string;
let original: string;

beforeEach(async () => {
  project = await DevProject.create();
  file = join(project.folder, "agents.ts");
  original = readFileSync(file, "utf8");
  dev = project.reeve("dev", "--port", String(await freePort()));
  await dev.line("ready");
});

afterEach(async () => {
  dev.process.kill("SIGINT");
  expect(await dev.ended).toBe(0);
  await project[Symbol.asyncDispose]();
});

/** Saves the project's code, and waits for the build of this number. */
async function save(text: string, number: number): Promise<void> {
  writeFileSync(file, text);
  const isReady = (): boolean =>
    dev.lines.some((line) => line["type"] === "ready" && line["number"] === number);
  await expect.poll(isReady).toBe(true);
}

test("a run finishes with the code it began with, however often the code changes", async () => {
  const run = project.reeve("run", "lead", "heat pumps in Europe", "--id", "edited", "--max-cost", "0.5");
  await run.line("approval.requested");
  // The fourth build, whose lead has another team, retires the first.
  await save(`${original}// one\n`, 2);
  await save(`${original}// two\n`, 3);
  await save(original.replaceAll('"writer"', '"author"'), 4);
  await save(original, 5);
  expect(await project.reeve("approve", "edited").ended).toBe(0);
  expect(await run.ended).toBe(0);
  expect(run.lines.at(-1)).toMatchObject({ type: "result", status: "completed" });
});

test("a build stays while no other live build has the program of its run", async () => {
  const run = project.reeve("run", "lead", "heat pumps in Asia", "--id", "alone", "--max-cost", "0.5");
  await run.line("approval.requested");
  for (const [index, name] of ["a", "b", "c", "d"].entries())
    await save(original.replaceAll('"writer"', `"${name}"`), 2 + index);
  expect(await project.reeve("approve", "alone").ended).toBe(0);
  expect(await run.ended).toBe(0);

  const build = readFileSync(join(project.folder, ".reeve/builds"), "utf8").trim().split("\n").at(-1) ?? "";
  const moving = project.reeve("move", "dev-none");
  expect(await moving.ended).toBe(0);
  expect(moving.lines).toEqual([{ moved: 0, left: 0 }]);
  expect(await project.reeve("move", build, "--to", "nowhere").ended).toBe(4);
});

test("code that cannot be loaded is reported, and repaired code is served again", async () => {
  appendFileSync(file, "throw new Error('the office burns');\n");
  await expect.poll(() => JSON.stringify(dev.lines)).toContain("the office burns");
  // A build that fails to load gets no number.
  await save(original, 2);
});
