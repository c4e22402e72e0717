import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Five runs: what needs no server, and what needs a real Restate, a real PostgreSQL, a real browser, or the packed
// package on every platform.
const servers = ["engine", "stores", "browser", "package"];
const wanted = process.env["REEVE_TESTS"] ?? "unit";
const outputFile = `node_modules/.cache/reeve/${wanted}.json`;
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
    include: [servers.includes(wanted) ? `test/**/*.${wanted}.test.ts` : "test/**/*.test.ts"],
    exclude: servers.filter((name) => name !== wanted).map((name) => `test/**/*.${name}.test.ts`),
    reporters: ["default", ["json", { outputFile }]],
    // Loaded before everything else, as in a process of an example.
    execArgv: ["--import", join(import.meta.dirname, "test/safety/fixtures/count-connections.ts")],
    setupFiles: ["test/leftover-processes.ts", "test/attempted-connections.ts"],
    // Guards against hanging alone: on a machine whose host gives its processors to others everything takes many times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Cases that run beside each other: more of them do not end sooner on two cores.
    maxConcurrency: 3,
    expect: { poll: { timeout: 30_000 } },
    env: { NODE_COMPILE_CACHE: compiled, ...restate },
    // One core is left alone by default, which of two is half. Tests on a server need it: they hold things to times.
    ...(!servers.includes(wanted) && { maxWorkers: "100%" }),
  },
});
