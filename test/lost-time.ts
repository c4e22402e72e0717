import { readFileSync } from "node:fs";

/** The time that a machine has lost since it was started, in milliseconds. */
export interface LostTime {
  /** Milliseconds for which each processor was ready while the host ran others. */
  readonly stolen: readonly number[];
  /** Milliseconds for which every busy task waited for the disk. */
  readonly disk: number;
}

/** Reads /proc/stat, which counts in hundredths of a second, and /proc/pressure/io, which counts in microseconds. */
export function parseLostTime(stat: string, pressure: string): LostTime {
  const processors = stat.split("\n").filter((line) => /^cpu\d/.test(line));
  const full = /^full .*total=(\d+)/m.exec(pressure)?.[1] ?? "0";
  return {
    stolen: processors.map((line) => 10 * Number(line.split(/\s+/)[8] ?? 0)),
    disk: Number(full) / 1_000,
  };
}

/** The most that one task can have lost from one reading to another. */
export function lostBetween(before: LostTime, after: LostTime): number {
  const stolen = after.stolen.map((ms, processor) => ms - (before.stolen[processor] ?? 0));
  return Math.max(0, ...stolen) + after.disk - before.disk;
}

/**
 * For tests with time limits. Returns the milliseconds that the machine has lost since this call: a virtual machine
 * without its processors or disk proves nothing about the code.
 */
export function measureLostTime(): () => number {
  const before = readLostTime();
  return () => lostBetween(before, readLostTime());
}

/** Returns the milliseconds since this call, less the time the machine lost. */
export function startStopwatch(): () => number {
  const began = performance.now();
  const lost = measureLostTime();
  return () => performance.now() - began - lost();
}

/** Processor time of the machine since it was started, in hundredths of a second. */
export interface ProcessorTime {
  /** Wanted by its tasks, whether or not the host gave it. */
  readonly wanted: number;
  /** Wanted, and given to others by the host. */
  readonly stolen: number;
}

/** Reads the first line of /proc/stat: user, nice, system, idle, waiting for the disk, interrupts, and stolen time. */
export function parseProcessorTime(stat: string): ProcessorTime {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = stat
    .slice(0, Math.max(0, stat.indexOf("\n")))
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { wanted: user + nice + system + irq + softirq + stolen, stolen };
}

export const readProcessorTime = (): ProcessorTime => parseProcessorTime(read("/proc/stat"));

/** Returns the share of the wanted processor time that the host gave to others, from 0 to 1. */
export function shareWithheld(before: ProcessorTime, after: ProcessorTime): number {
  const wanted = after.wanted - before.wanted;
  return wanted <= 0 ? 0 : (after.stolen - before.stolen) / wanted;
}

const readLostTime = (): LostTime => parseLostTime(read("/proc/stat"), read("/proc/pressure/io"));

/** Systems other than Linux do not report it, and some kernels only partly. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
