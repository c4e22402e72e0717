import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Json } from "#kernel";
import type { Verdict } from "./laboratory.ts";
import { root } from "./parts.ts";

const fileOf = (part: string): string => join(root, `node_modules/.cache/reeve/mutation/${part}.txt`);

/** Keeps the verdicts of a part, one on each line. */
export function writeResults(part: string, verdicts: readonly Verdict[]): void {
  const file = fileOf(part);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, verdicts.map((verdict) => `${JSON.stringify(verdict)}\n`).join(""));
}

/** Returns the verdicts of the last run of a part. */
export function readResults(part: string): readonly Verdict[] {
  const lines = readFileSync(fileOf(part), "utf8").split("\n").filter(Boolean);
  return lines.map((line) => Json.as<Verdict>(Json.as(JSON.parse(line))));
}
