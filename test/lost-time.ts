import { readFileSync } from "node:fs";

/** The time that a machine has lost since it was started, in milliseconds. */
export interface LostTime {
  /** For each processor: how long it was ready to work while its host let others work. */
  readonly stolen: readonly number[];
  /** How long every task that had something to do waited for the disk. */
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
 * For tests that hold something to a time. Returns how many milliseconds the machine has lost since this call: a
 * virtual machine that its host kept from its processors or its disk says nothing about the code that ran there.
 */
export function measureLostTime(): () => number {
  const before = readLostTime();
  return () => lostBetween(before, readLostTime());
}

/** Returns how many milliseconds have passed since this call, less what the machine lost of them. */
export function startStopwatch(): () => number {
  const began = performance.now();
  const lost = measureLostTime();
  return () => performance.now() - began - lost();
}

const readLostTime = (): LostTime => parseLostTime(read("/proc/stat"), read("/proc/pressure/io"));

/** Other systems than Linux do not tell, and some kernels tell a part. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
