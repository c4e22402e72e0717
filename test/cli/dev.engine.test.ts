import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../free-port.ts";
import { DevProject } from "./dev-project.ts";

let project: DevProject;

beforeAll(async () => {
  project = await DevProject.create();
});

afterAll(() => project[Symbol.asyncDispose]());

function pidsOf(words: string): readonly number[] {
  const { pid, restatePid }: { pid: number; restatePid: number } = JSON.parse(words);
  return [pid, restatePid];
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The time that the lead may wait for its writer, which needs an approval for its e-mail. */
const askTimeoutS = 4;

function limitAsk(): void {
  const file = join(project.folder, "agents.ts");
  const text = readFileSync(file, "utf8");
  const limited = text.replace(
    "reviewer, writer]",
    `reviewer, { agent: writer, askTimeoutS: ${askTimeoutS} }]`,
  );
  expect(limited).not.toBe(text);
  writeFileSync(file, limited);
}

test("a run of a new project survives killed workers and a long stop, and is approved from another terminal", async () => {
  limitAsk();
  const port = String(await freePort());
  const dev = project.reeve("dev", "--port", port);
  expect(await dev.line("ready")).toMatchObject({
    agents: ["lead", "researcher", "reviewer", "writer"],
    failure: null,
  });
  const file = join(project.folder, ".reeve/dev.json");
  const pids = pidsOf(readFileSync(file, "utf8"));

  const run = project.reeve("run", "lead", "heat pumps in Europe", "--id", "report", "--max-cost", "0.5");
  await run.line("model.start");
  const workers = dev.lines.flatMap((line) => (typeof line["pid"] === "number" ? [line["pid"]] : []));
  for (const pid of workers) process.kill(pid, "SIGKILL");
  await dev.line("restarting");
  await run.line("approval.requested");
  expect(await project.reeve("run", "researcher", "heat pumps", "--session", "talk").ended).toBe(0);

  dev.process.kill("SIGINT");
  expect(await dev.ended).toBe(0);
  expect(existsSync(file)).toBe(false);
  expect([...pids, ...workers].filter(isAlive)).toEqual([]);

  // The stop itself is what is tried: it takes three times as long as the ask may.
  await setTimeout(askTimeoutS * 3_000);
  const next = project.reeve("dev", "--port", port);
  await next.line("ready");
  expect(await project.reeve("approve", "report").ended).toBe(0);
  expect(await run.ended).toBe(0);
  const result = run.lines.at(-1);
  expect(result).toMatchObject({ type: "result", status: "completed" });
  expect(result?.["output"]).toContain("E-mail sent to team@example.com.");
  const seqs = run.lines.flatMap((line) => (typeof line["seq"] === "number" ? [line["seq"]] : []));
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));

  // The same start is the same run. Another start under its id is none.
  const again = project.reeve("run", "lead", "heat pumps in Europe", "--id", "report", "--max-cost", "0.5");
  expect(await again.ended).toBe(0);
  expect(again.lines.at(-1)).toEqual(result);
  const other = project.reeve("run", "lead", "heat pumps in Europe", "--id", "report", "--max-cost", "0.6");
  expect(await other.ended).toBe(5);

  expect(await project.reeve("run", "researcher", "solar panels", "--session", "talk").ended).toBe(0);
  const { url }: { readonly url: string } = JSON.parse(readFileSync(file, "utf8"));
  const conversation = await (await fetch(`${url}/sessions/talk/messages`)).text();
  const asked = ["heat pumps", "solar panels"].map((words) => conversation.split(`"${words}"`).length - 1);
  expect(asked).toEqual([1, 1]);

  next.process.kill("SIGINT");
  expect(await next.ended).toBe(0);
});

test("a project without agents, or one that runs already, is refused with a message", async () => {
  expect(await project.reeve("dev", "unknown.ts").ended).toBe(4);
  mkdirSync(join(project.folder, ".reeve"), { recursive: true });
  const file = join(project.folder, ".reeve/dev.json");
  writeFileSync(file, JSON.stringify({ pid: process.pid, restatePid: 0, url: "http://127.0.0.1:1" }));
  expect(await project.reeve("dev", "--port", "0").ended).toBe(5);
  rmSync(file);
});
