import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Four runs: what needs no server, and what runs on a real Restate, on a real PostgreSQL, in a real browser.
const servers = ["engine", "stores", "browser"];
const wanted = process.env["REEVE_TESTS"] ?? "unit";
const outputFile = `node_modules/.cache/reeve/${wanted}.json`;
const include = [servers.includes(wanted) ? `test/**/*.${wanted}.test.ts` : "test/**/*.test.ts"];
const others = servers.filter((name) => name !== wanted).map((name) => `test/**/*.${name}.test.ts`);
/** They hold something to a time: nothing runs beside them. */
const timed = "test/engines/restate/{deltas,failover,parked}.engine.test.ts";
/** Many tests start processes, and a process is half as dear once its code has been compiled. */
const compiled = join(import.meta.dirname, "node_modules/.cache/reeve/compiled");

export default defineConfig({
  ssr: { resolve: { conditions: ["reeve-source"] } },
  test: {
    reporters: ["default", ["json", { outputFile }]],
    testTimeout: 30_000,
    env: { NODE_COMPILE_CACHE: compiled },
    projects: [
      // By default one core is left alone, which of two is half of what there is.
      {
        extends: true,
        test: { name: "side by side", include, exclude: [...others, timed], maxWorkers: "100%" },
      },
      {
        extends: true,
        test: {
          name: "timed",
          include: [timed],
          exclude: others,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
