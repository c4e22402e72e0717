import { globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { runExample } from "./run-example.ts";

const startsServer = (file: string): boolean => readFileSync(file, "utf8").includes("restateServer");
const files = globSync("examples/[0-9]*.ts").filter((file) => !startsServer(file));

/** A process that may read the project, has a folder for its files, and starts nothing. */
const confined = [
  "--permission",
  `--allow-fs-read=${resolve(import.meta.dirname, "..")}`,
  `--allow-fs-read=${tmpdir()}`,
  `--allow-fs-write=${tmpdir()}`,
];

/** The examples that a confined process cannot run: one starts an MCP server, one makes a link. */
const unconfined: ReadonlySet<string> = new Set(["examples/47-mcp-client.ts", "examples/49-files.ts"]);

test.each(files.toSorted())("%s runs and its assertions hold", async (file) => {
  expect(await runExample(file, { flags: unconfined.has(file) ? [] : confined })).toBe("");
});
