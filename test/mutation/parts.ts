import { globSync } from "node:fs";
import { join } from "node:path";

/** The folder of the package. */
export const root = join(import.meta.dirname, "../..");

/** A part of the source, and the tests that could detect a bug in it. */
interface Part {
  readonly source: readonly string[];
  readonly tests: readonly string[];
}

/** Runs on the local engine. */
const runtimeTests = [
  "test/{runtime,tree,audit,deltas}/**/*.test.ts",
  "test/engines/local/*.test.ts",
  "test/simulation/{window,model-retries}.test.ts",
  "test/agents/*.test.ts",
  "test/agents/middleware/*.test.ts",
];

/** The parts that are mutated. */
export const parts: Readonly<Record<string, Part>> = {
  ledger: { source: ["src/ledger/**/*.ts"], tests: ["test/ledger/*.test.ts"] },
  tree: { source: ["src/tree/**/*.ts"], tests: runtimeTests },
  driver: {
    source: ["src/run/**/*.ts"],
    tests: runtimeTests,
  },
};

/** Returns the files of a list of patterns, relative to the root, in order. */
export function filesIn(patterns: readonly string[]): readonly string[] {
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !/\.(engine|stores|browser|package)\.test\.ts$/.test(file))
    .toSorted();
}
