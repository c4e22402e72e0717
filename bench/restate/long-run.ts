// A run of 10,000 cycles, and an own agent of 10,000 steps: are the last as cheap as the first, and how long does it
// take to go on after a crash? One worker is killed at the last piece of work; another replays all and ends it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { AgentId, type Agent, type RunHandle, Runtime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { freePort } from "../../test/free-port.ts";
import type { Told } from "./long-run-worker.ts";
import { cpuMs, print } from "./measure.ts";

const length = Number(process.env["BENCH_LENGTH"] ?? 10_000);
const names = (process.env["BENCH_AGENTS"] ?? "thinker,stepper").split(",");
const longestReplayMs: Readonly<Record<string, number>> = { thinker: 600, stepper: 3_000 };
const mostGrowth = 1.3;

/** Resources used when a piece of work began. */
interface Mark {
  readonly number: number;
  readonly wall: number;
  /** Processor time of worker and server: neighbours do not change it. */
  readonly cpu: number;
  readonly heapMegabytes: number;
}

await using server = await restateServer();

class LongWorker implements AsyncDisposable {
  readonly marks: Mark[] = [];
  replayMs: number | null = null;
  isReady = false;
  readonly #child: ChildProcess;

  constructor(namespace: string, port: number, mode: "first" | "second") {
    const given = [server.ingress, server.admin, String(port), String(length), mode, namespace];
    this.#child = fork(join(import.meta.dirname, "long-run-worker.ts"), given);
    this.#child.on("message", (told: Told) => this.#hear(told));
  }

  async waitUntil(holds: () => boolean): Promise<void> {
    while (!holds()) await once(this.#child, "message");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  #hear(told: Told): void {
    if (told.kind === "ready") this.isReady = true;
    if (told.kind === "resumed") this.replayMs = told.replayMs;
    if (told.kind !== "at") return;
    const cpu = cpuMs(this.#child.pid ?? -1) + cpuMs(server.pid);
    this.marks.push({ ...told, wall: performance.now(), cpu });
  }
}

/** Returns at the last piece of work, with the worker killed. */
async function waitForLast(
  name: string,
  port: number,
  start: () => Promise<RunHandle>,
): Promise<[RunHandle, Mark[]]> {
  await using worker = new LongWorker(name, port, "first");
  await worker.waitUntil(() => worker.isReady);
  const run = await start();
  await worker.waitUntil(() => worker.marks.at(-1)?.number === length);
  return [run, worker.marks];
}

async function measure(name: string): Promise<boolean> {
  const port = await freePort();
  const agent: Agent = { id: AgentId.of(name), run: async () => null };
  await using runtime = new Runtime({ agents: [agent], engine: restate({ ...server, namespace: name }) });
  const [run, marks] = await waitForLast(name, port, () => runtime.start(agent, "go"));
  await using second = new LongWorker(name, port, "second");
  const { status } = await run.result();
  await second.waitUntil(() => second.replayMs !== null);
  const replayMs = second.replayMs ?? NaN;
  const laps = (of: (mark: Mark) => number): number[] =>
    marks.slice(1).map((mark, at) => (of(mark) - of(marks[at] ?? mark)) / (length / 10));
  const [wall, cpu] = [laps((mark) => mark.wall), laps((mark) => mark.cpu)];
  // The first tenth warms up.
  const growth = (cpu.at(-1) ?? NaN) / (cpu[1] ?? NaN);
  print(
    [`${name}: ${status}`, growth, marks.at(-1)?.heapMegabytes ?? NaN, replayMs],
    ["  ms of each, by tenths", wall.map((ms) => ms.toFixed(1)).join(" ")],
    ["  ms CPU of each", cpu.map((ms) => ms.toFixed(1)).join(" ")],
  );
  return status === "completed" && growth <= mostGrowth && replayMs <= (longestReplayMs[name] ?? 0);
}

print([`${length} pieces of work`, "growth CPU", "heap MB", "replay ms"]);
for (const name of names) if (!(await measure(name))) process.exitCode = 1;
