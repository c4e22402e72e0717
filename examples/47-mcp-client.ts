// MCP: an agent reads files through the official filesystem server, whose tools were approved before.
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agent, createRuntime } from "reeve";
import { mcp, pinTools } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "reeve-files-")));
writeFileSync(join(folder, "notes.txt"), "The report is due on Friday.");
const installed = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-filesystem/package.json",
);
const address = {
  name: "files",
  command: process.execPath,
  args: [join(dirname(installed), "dist/index.js"), folder],
};

// `reeve mcp pin files -- node …` does this once, and writes mcp-pins.json for review.
const pins = await pinTools(address);

const model = scriptedModel([
  call("files_read_text_file", { path: join(folder, "notes.txt") }),
  call("files_write_file", { path: join(folder, "notes.txt"), content: "overwritten" }),
  say("The report is due on Friday."),
]);
try {
  // Reading is safe because we declare it. All other tools keep risk "high", whatever the server claims.
  await using files = mcp({ ...address, pins, tools: { read_text_file: { risk: "safe" } } });
  const writer = agent({ name: "writer", model, extensions: [files] });
  await using runtime = createRuntime({ agents: [writer] });
  const { output, labels } = await (await runtime.start(writer, "When is the report due?")).result();
  assert.equal(output, "The report is due on Friday.");
  assert.equal(labels?.untrusted, true);

  const results = JSON.stringify(model.requests.at(-1)?.messages);
  assert.match(results, /The report is due on Friday\./);
  assert.match(results, /files_write_file refused: its risk is high/);
} finally {
  rmSync(folder, { recursive: true });
}
