import { readFileSync } from "node:fs";
import { cpuMs } from "./restate/measure.ts";

const everyMs = 250;
const bytesPerMb = 1024;

/** Resources used by a process and its children since the first sample. */
export interface Used {
  readonly cpuMs: number;
  readonly peakMb: number;
  readonly mb: number;
}

/** Samples processes by name. Linux only. */
export class ProcessUse {
  readonly #pids: Readonly<Record<string, number>>;
  readonly #before: Readonly<Record<string, number>>;
  readonly #peaks: Record<string, number> = {};
  readonly #timer: NodeJS.Timeout;

  constructor(pids: Readonly<Record<string, number>>) {
    this.#pids = pids;
    this.#before = this.#each(familyCpuMs);
    this.#timer = setInterval(() => this.#look(), everyMs);
  }

  finish(): Readonly<Record<string, Used>> {
    clearInterval(this.#timer);
    this.#look();
    const [cpu, memory] = [this.#each(familyCpuMs), this.#each(familyMb)];
    const toUsed = (name: string): Used => ({
      cpuMs: (cpu[name] ?? 0) - (this.#before[name] ?? 0),
      peakMb: this.#peaks[name] ?? 0,
      mb: memory[name] ?? 0,
    });
    return Object.fromEntries(Object.keys(this.#pids).map((name) => [name, toUsed(name)]));
  }

  #look(): void {
    for (const [name, mb] of Object.entries(this.#each(familyMb)))
      this.#peaks[name] = Math.max(this.#peaks[name] ?? 0, mb);
  }

  #each(measure: (pid: number) => number): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(this.#pids).map(([name, pid]) => [name, measure(pid)]));
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** A child that ends while it is looked at is not there. */
function sumOf(pid: number, measure: (pid: number) => number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  const each = [pid, ...children.map(Number)].map((one) => {
    try {
      return measure(one);
    } catch {
      return 0;
    }
  });
  return sum(each);
}

const familyCpuMs = (pid: number): number => sumOf(pid, cpuMs);

/** Without shared memory, which would be counted several times. */
const familyMb = (pid: number): number =>
  Math.round(
    sumOf(pid, (one) => {
      const kb = (field: string): number =>
        Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${one}/status`, "utf8"))?.[1]);
      return kb("VmRSS") - kb("RssShmem");
    }) / bytesPerMb,
  );
