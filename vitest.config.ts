import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { projects, testFiles } from "./.ci/parts.ts";

// Five projects: what needs no server, and what needs a real Restate, a real PostgreSQL, a real browser, or the packed
// package on every platform.
const project = projects.find((name) => name === process.env["REEVE_TESTS"]) ?? "unit";
const isFull = process.env["REEVE_FULL"] !== undefined;
const { include, exclude } = testFiles(project, isFull ? "full" : "run");
const timed = "test/**/*.timed.test.ts";
/** In `.ci/full`, unit tests that are held to times run after the others: one file at a time, in a process of its own. */
const unitInFull = [
  { extends: true as const, test: { name: "unit", include: [...include], exclude: [...exclude, timed] } },
  {
    extends: true as const,
    test: { name: "timed", include: [timed], isolate: true, maxWorkers: 1, sequence: { groupOrder: 1 } },
  },
];
const outputFile = `node_modules/.cache/reeve/reports/${project}.json`;
/** Many tests start processes, and a process is half as dear once its code has been compiled. */
const compiled = join(import.meta.dirname, "node_modules/.cache/reeve/compiled");
/**
 * Restate servers of tests do not wait for the disk: only a crash of the machine would lose data, and no test has one.
 * A run takes a third less time. Servers of the campaign do wait.
 */
const restate = { RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: "true" };

export default defineConfig({
  ssr: { resolve: { conditions: ["reeve-source"] } },
  test: {
    ...(project === "unit" && isFull
      ? { projects: unitInFull }
      : { include: [...include], exclude: [...exclude] }),
    reporters: ["default", ["json", { outputFile }]],
    // Loaded before everything else, as in a process of an example.
    execArgv: ["--import", join(import.meta.dirname, "test/safety/fixtures/count-connections.ts")],
    setupFiles: [
      "test/leftover-processes.ts",
      "test/attempted-connections.ts",
      "test/patience.ts",
      "test/property-seed.ts",
    ],
    // Guards against hanging alone: a test takes a third of this at most, and twice as long on a busy machine. Where a
    // host withholds processors, `test/patience.ts` gives more.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Cases that run beside each other: most wait for timers. On a Restate server, and in a process of their own, each
    // keeps a processor busy.
    maxConcurrency: { unit: 6, stores: 6, browser: 6, engine: 4, package: isFull ? 2 : 1 }[project],
    expect: { poll: { timeout: 40_000 } },
    env: { NODE_COMPILE_CACHE: compiled, ...restate },
    // Files share a process: loading the framework again for each would double the cost. The helpers of the browser
    // tests register hooks when they are loaded, so there each file needs its own process.
    isolate: project === "browser",
    // Beside a server, which needs the other core, one file at a time.
    maxWorkers: project === "unit" ? "100%" : 1,
  },
});
