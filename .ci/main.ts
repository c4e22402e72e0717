// Runs the parts of a script beside each other while there are cores for them. Prints the whole output of a part when
// it ends, then a table of all. Reports and outputs are kept.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join, relative } from "node:path";
import { readProcessorTime, shareWithheld } from "../test/lost-time.ts";
import { type Part, type Script, scripts } from "./parts.ts";

/** Vitest writes its reports here, too. */
const reports = "node_modules/.cache/reeve/reports";
/** A part that hangs fails with its name. On a machine with two free cores, no part takes a third of this time. */
const limitMs = 3_600_000;
/** Milliseconds in which a part that is stopped may clean up. */
const graceMs = 30_000;
/** Lines of the reason for which a test failed that the end of the log repeats. */
const reasonLines = 6;

interface Ended {
  readonly part: Part;
  readonly hasPassed: boolean;
  /** Seconds of wall time, and of processor time with all processes that it waited for. */
  readonly wall: number;
  readonly cpu: number;
}

/** Parts that run now, each with all processes that it started in one group. */
const groups = new Set<ChildProcess>();

const [script = "run", ...wanted] = process.argv.slice(2);
const logOf = (name: string): string => join(reports, `${name}.log`);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    for (const group of groups) stopGroup(group, "SIGTERM");
    process.exit(1);
  });

if (script !== "run" && script !== "full") throw new TypeError(`no script ${script}: use run or full`);
process.exitCode = (await runScript(script)) ? 0 : 1;

/** Returns whether all parts have passed. */
async function runScript(name: Script): Promise<boolean> {
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  if (name === "full") process.env["REEVE_FULL"] = "1";
  const parts = wanted.length === 0 ? scripts[name] : choose(scripts[name], wanted);
  const began = performance.now();
  const usedBefore = usedSeconds();
  const timeBefore = readProcessorTime();
  const ended = await runAll(parts);
  const wall = (performance.now() - began) / 1_000;
  const cpu = usedSeconds() - usedBefore;
  const isGreen = ended.length === parts.length && ended.every(({ hasPassed }) => hasPassed);
  say(`\n== .ci/${name}, seed ${process.env["REEVE_SEED"] ?? "1"}`);
  say(["part".padEnd(10), "wall s".padStart(8), "cpu s".padStart(8)].join(" "));
  for (const each of ended) say(`${rowOf(each.part.name, each)}${each.hasPassed ? "" : "  FAILED"}`);
  for (const { name: left } of parts.filter((part) => !ended.some((each) => each.part === part)))
    say(`${left.padEnd(10)} was not run: a part before it failed`);
  say(`${rowOf("all", { wall, cpu })}  (cpu: of the whole machine, ${availableParallelism()} cores)`);
  const withheld = shareWithheld(timeBefore, readProcessorTime());
  if (withheld >= 0.01)
    say(
      `the machine's host withheld ${(withheld * 100).toFixed(0)} % of the processor time: no measure of speed`,
    );
  // People read the end of a log first, and some systems keep nothing else: so what failed comes last.
  const found = readReports();
  const failed = failedTests(found);
  for (const { part } of ended.filter(({ hasPassed }) => !hasPassed))
    say(`\n${part.name} ended with:\n${lastLines(part)}`);
  for (const test of failed) say(`failed: ${test}`);
  say(countTests(found, isGreen, failed.length));
  return isGreen;
}

/** The end of what a part printed. */
function lastLines({ name }: Part): string {
  return readFileSync(logOf(name), "utf8").trimEnd().split("\n").slice(-12).join("\n");
}

function rowOf(name: string, { wall, cpu }: { readonly wall: number; readonly cpu: number }): string {
  return [name.padEnd(10), wall.toFixed(0).padStart(8), cpu.toFixed(0).padStart(8)].join(" ");
}

/** The parts of these names, and those that they need. */
function choose(parts: readonly Part[], names: readonly string[]): readonly Part[] {
  const unknown = names.find((name) => !parts.some((part) => part.name === name));
  if (unknown !== undefined)
    throw new TypeError(`no part ${unknown}: use ${parts.map(({ name }) => name).join(", ")}`);
  const needed = new Set(names);
  for (const { name, after = [] } of parts.toReversed())
    if (needed.has(name)) for (const each of after) needed.add(each);
  return parts.filter(({ name }) => needed.has(name));
}

/** Runs the parts in their order. A part that needs more cores than are free waits, and so do those after it. */
async function runAll(parts: readonly Part[]): Promise<readonly Ended[]> {
  const ended: Ended[] = [];
  const running = new Map<Part, Promise<void>>();
  const left = [...parts];
  const failed = new Set<string>();
  const cores = Math.max(2, availableParallelism());
  const isReady = ({ after = [] }: Part): boolean =>
    after.every((name) => failed.has(name) || ended.some(({ part }) => part.name === name));
  while (left.length > 0 || running.size > 0) {
    const busy = [...running.keys()].reduce((sum, { cores: used }) => sum + used, 0);
    const next = left.findIndex(isReady);
    const part = left[next];
    if (part?.after?.some((name) => failed.has(name))) {
      left.splice(next, 1);
      failed.add(part.name);
    } else if (part && (running.size === 0 || busy + part.cores <= cores)) {
      left.splice(next, 1);
      const work = runPart(part).then((end) => {
        ended.push(end);
        if (!end.hasPassed) failed.add(part.name);
        running.delete(part);
      });
      running.set(part, work);
    } else await Promise.race(running.values());
  }
  return ended;
}

/** Runs a part, and prints its output when it has ended. */
async function runPart(part: Part): Promise<Ended> {
  const { name, command } = part;
  const [log, times] = [logOf(name), join(reports, `${name}.time`)];
  const out = openSync(log, "w");
  // The shell counts the processor time of everything that the part waits for, also if it is stopped.
  const timed = `trap : TERM; exec 3>&2; TIMEFORMAT="%R %U %S"; { time bash -c "$1" 2>&3; } 2>"$2"`;
  const child = spawn("bash", ["-c", timed, "bash", command, times], {
    stdio: ["ignore", out, out],
    detached: true, // a group of its own, so that it can be stopped as a whole
  });
  say(`-- ${name} begins: ${command}`);
  const stop = (signal: NodeJS.Signals): void => void (groups.has(child) && stopGroup(child, signal));
  const limits = [setTimeout(stop, limitMs, "SIGTERM"), setTimeout(stop, limitMs + graceMs, "SIGKILL")];
  groups.add(child);
  const [code] = await once(child, "exit");
  groups.delete(child);
  limits.forEach(clearTimeout);
  closeSync(out);
  const [wall = 0, user = 0, system = 0] = (existsSync(times) ? readFileSync(times, "utf8") : "")
    .trim()
    .split(/\s+/)
    .slice(-3)
    .map(Number);
  say(
    `\n== ${name}: ${command}\n${readFileSync(log, "utf8")}\n-- ${name} ${code === 0 ? "passed" : "FAILED"}`,
  );
  return { part, hasPassed: code === 0, wall, cpu: user + system };
}

/** Stops all processes of a part. */
function stopGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

/** Returns the seconds of processor time that all processes of the machine have used. */
function usedSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys, 0) / 1_000;
}

/** The reports of vitest so far. */
function readReports(): readonly Report[] {
  return readdirSync(reports)
    .filter((name) => name.endsWith(".json"))
    .map((name): Report => JSON.parse(readFileSync(join(reports, name), "utf8")));
}

/**
 * The tests that failed, each with its seconds and the first lines of the reason, and the files that could not be loaded:
 * those have no failed test.
 */
function failedTests(found: readonly Report[]): readonly string[] {
  return found
    .flatMap(({ testResults }) => testResults)
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, assertionResults }) => {
      const failed = assertionResults.filter(({ status }) => status === "failed");
      const file = relative(process.cwd(), name);
      return failed.length === 0 ? [file] : failed.map((test) => `${file} > ${describe(test)}`);
    });
}

function describe({ fullName, duration = 0, failureMessages }: FailedTest): string {
  const reason = failureMessages.join("\n").split("\n").slice(0, reasonLines);
  return [`${fullName} (${(duration / 1_000).toFixed(1)} s)`, ...reason].join("\n    ");
}

/** The counts over all reports. Nothing if anything but a test failed: the line must never look too good. */
function countTests(found: readonly Report[], isGreen: boolean, failed: number): string {
  const passed = found.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0);
  return passed + failed > 0 && isGreen === (failed === 0) ? `${passed} passed, ${failed} failed` : "";
}

interface FailedTest {
  readonly status: string;
  readonly fullName: string;
  readonly duration?: number;
  readonly failureMessages: readonly string[];
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly FailedTest[];
  }[];
}
