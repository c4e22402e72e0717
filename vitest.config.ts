import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Four runs: what needs no server, and what runs on a real Restate, on a real PostgreSQL, in a real browser.
const servers = ["engine", "stores", "browser"];
const wanted = process.env["REEVE_TESTS"] ?? "unit";
const outputFile = `node_modules/.cache/reeve/${wanted}.json`;
/** Many tests start processes, and a process is half as dear once its code has been compiled. */
const compiled = join(import.meta.dirname, "node_modules/.cache/reeve/compiled");

export default defineConfig({
  ssr: { resolve: { conditions: ["reeve-source"] } },
  test: {
    include: [servers.includes(wanted) ? `test/**/*.${wanted}.test.ts` : "test/**/*.test.ts"],
    exclude: servers.filter((name) => name !== wanted).map((name) => `test/**/*.${name}.test.ts`),
    reporters: ["default", ["json", { outputFile }]],
    testTimeout: 30_000,
    env: { NODE_COMPILE_CACHE: compiled },
    // One core is left alone by default, which of two is half. Tests on a server need it: they hold things to times.
    ...(!servers.includes(wanted) && { maxWorkers: "100%" }),
  },
});
