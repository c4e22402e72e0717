import { defineConfig } from "vitest/config";

// Four runs: what needs no server, and what runs on a real Restate, on a real PostgreSQL, in a real browser.
const servers = ["engine", "stores", "browser"];
const wanted = process.env["REEVE_TESTS"] ?? "unit";
const outputFile = `node_modules/.cache/reeve/${wanted}.json`;

export default defineConfig({
  ssr: { resolve: { conditions: ["reeve-source"] } },
  test: {
    include: [servers.includes(wanted) ? `test/**/*.${wanted}.test.ts` : "test/**/*.test.ts"],
    exclude: servers.filter((name) => name !== wanted).map((name) => `test/**/*.${name}.test.ts`),
    reporters: ["default", ["json", { outputFile }]],
    testTimeout: 30_000,
  },
});
