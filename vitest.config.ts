import { defineConfig } from "vitest/config";

const engine = process.env["REEVE_TESTS"] === "engine";
const outputFile = `node_modules/.cache/reeve/${engine ? "engine" : "unit"}.json`;

// Two runs: everything that needs no server, and everything that runs on a real Restate.
export default defineConfig({
  ssr: { resolve: { conditions: ["reeve-source"] } },
  test: {
    include: [engine ? "test/**/*.engine.test.ts" : "test/**/*.test.ts"],
    exclude: engine ? [] : ["test/**/*.engine.test.ts"],
    reporters: ["default", ["json", { outputFile }]],
    testTimeout: 30_000,
  },
});
