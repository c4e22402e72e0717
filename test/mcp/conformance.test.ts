// The applicable scenarios of the official conformance suite: it uses the revisions of 2025, and requires its own
// tools.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { agent, createRuntime } from "reeve";
import { mcpServer } from "reeve/mcp";
import { listen } from "reeve/server";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const program = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const client = `${process.execPath} --conditions=reeve-source test/mcp/fixtures/conformance-client.ts`;

/** Runs the suite and returns its output. @throws Error if a check has failed. */
async function conformance(...words: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...words]);
  return stdout + stderr;
}

test.for(["initialize", "tools_call", "auth/client-credentials-basic"])(
  "the client passes the scenario %s",
  async (scenario) => {
    const folder = await mkdtemp(join(tmpdir(), "reeve-conformance-"));
    const given = ["--command", client, "--scenario", scenario, "--output-dir", folder];
    try {
      expect(await conformance("client", ...given)).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

test.for(["server-initialize", "ping", "tools-list", "dns-rebinding-protection"])(
  "the server passes the scenario %s",
  async (scenario) => {
    const greeter = agent({ name: "greeter", description: "Greets.", model: scriptedModel([say("hello")]) });
    await using runtime = createRuntime({ agents: [greeter] });
    await using listener = await listen({ runtime, port: 0, mounts: [mcpServer({ agents: [greeter] })] });
    const url = `http://localhost:${listener.port}/mcp`;
    expect(await conformance("server", "--url", url, "--scenario", scenario)).toMatch(
      /Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/,
    );
  },
);
