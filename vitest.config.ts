import { defineConfig } from "vitest/config";

// Three runs: what needs no server, what runs on a real Restate, and what runs on a real PostgreSQL.
const servers = ["engine", "stores"];
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
