import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { agent } from "reeve";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import pkg from "../../package.json" with { type: "json" };
import { main } from "../../src/cli/program.ts";
import { commandFor } from "../../src/cli/terminal.ts";
import { asTyped } from "../../src/cli/text/as-typed.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { CliServer } from "./cli-server.ts";

const root = resolve(import.meta.dirname, "../..");
const entry = ["--conditions=reeve-source", join(root, "src/cli/main.ts")];

test("the version is that of the package", async () => {
  const terminal = new FakeTerminal();
  expect(await main(["--version"], terminal)).toBe(0);
  expect(terminal.said).toBe(`${pkg.version}\n`);
});

test("agents are listed with their descriptions", async () => {
  const model = scriptedModel([say("done")]);
  const lead = agent({ name: "lead", model, version: "2", description: "Prepares a report" });
  await using server = await CliServer.open({
    agents: [lead, agent({ name: "researcher", model, version: "1" })],
  });
  expect((await server.reeve("agents")).said).toBe(
    "agent       version  description\nlead        2        Prepares a report\nresearcher  1\n",
  );
  const [first = ""] = (await server.reeve("agents", "--json")).said.split("\n");
  expect(JSON.parse(first)).toMatchObject({ name: "lead", description: "Prepares a report", version: "2" });
});

test("an unknown agent is refused with the list of known agents", async () => {
  await using server = await CliServer.open();
  expect(await server.reeve("run", "unknown", "x")).toEqual({
    code: 4,
    said: "",
    complained: "reeve: no agent unknown\n  → agents: lead, writer\n",
  });
});

test.each([
  [["runs", "--frob"], "unknown option '--frob'"],
  [["frob"], "unknown command 'frob'"],
  [["run", "lead"], "missing required argument 'input'"],
  [["top-up", "t1"], "give --cost, --tokens or --turns"],
  [["budget"], "unknown option '--json'"],
])("an invalid command line (%j) is reported as JSON with --json", async (words, message) => {
  const json = new FakeTerminal();
  expect(await main([...words, "--json"], json)).toBe(2);
  const error = { code: "usage", message, hint: "add --help for usage" };
  expect(JSON.parse(json.complained)).toEqual({ error });
});

test("an invalid command line is reported as text, once", async () => {
  const terminal = new FakeTerminal();
  expect(await main(["runs", "--frob"], terminal)).toBe(2);
  expect(terminal.complained).toBe("reeve: unknown option '--frob'\n  → add --help for usage\n");
  const bare = new FakeTerminal();
  expect(await main([], bare)).toBe(2);
  expect(bare.complained).toMatch(/^Usage: reeve [^]*Exit codes:/);
  expect(bare.complained).not.toContain("reeve:");
});

test.each([
  ["/home/ada/demo/node_modules/.bin/reeve", {}, "npx reeve"],
  ["C:\\demo\\node_modules\\reeve\\dist\\cli\\main.js", { npm_command: "exec" }, "npx reeve"],
  ["/usr/local/bin/reeve", {}, "reeve"],
])("started as %s, the command is shown in hints as it was typed", (script, environment, command) => {
  expect(commandFor(script, environment)).toBe(command);
});

test("hints print the command as it was typed, and nothing else changes", async () => {
  const terminal = new FakeTerminal({
    command: "npx reeve",
    environment: { REEVE_URL: "http://127.0.0.1:9" },
  });
  expect(await main(["runs"], terminal)).toBe(3);
  expect(terminal.complained).toContain("→ start one with `npx reeve dev agents.ts`, or set");
  expect(asTyped("reeve run lead", "npx reeve")).toBe("npx reeve run lead");
  expect(asTyped("see: reeve runs --all", "npx reeve")).toBe("see: npx reeve runs --all");
  expect(asTyped("the reeve it needs", "npx reeve")).toBe("the reeve it needs");
  await using server = await CliServer.open();
  const typed = server.terminal({ command: "npx reeve" });
  void main(["run", "lead", "publish", "--id", "t1"], typed);
  await server.waitForApproval("t1");
  await expect.poll(() => typed.said).toContain("approval of publish: npx reeve approve t1~0:tool:2\n");
  const why = server.terminal({ command: "npx reeve" });
  await main(["why", "t1"], why);
  expect(why.said).toContain("  → npx reeve deny t1~0:tool:2\n");
  await server.reeve("cancel", "t1");
});

test.each([
  ["text/html", 200, "<h1>Hello</h1>"],
  ["application/json", 200, "x"],
  ["application/json", 200, '{"hello":"world"}'],
  ["application/json", 404, '{"message":"not here"}'],
  ["text/plain", 404, "not here"],
])("another program on the port that answers %s with %i is named", async (type, status, body) => {
  const other = createServer((_, response) => {
    response.writeHead(status, { "content-type": type }).end(body);
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  try {
    const terminal = new FakeTerminal({ environment: { REEVE_URL: url } });
    expect(await main(["runs"], terminal)).toBe(3);
    expect(terminal.complained).toBe(
      `reeve: the server at ${url} is not Reeve: it answered /runs with ${status} and ${type}\n` +
        "  → set --url or REEVE_URL to the address of Reeve, or use another port: `reeve dev --port 7434`\n",
    );
  } finally {
    other.close();
  }
});

test("a reader that closes the pipe ends the command silently, and not the run", async () => {
  await using server = await CliServer.open();
  const words = ["run", "lead", "publish", "--id", "t1", "--json", "--url", server.url];
  const child = spawn(process.execPath, [...entry, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  let complained = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complained += text));
  await once(child.stdout, "data");
  child.stdout.destroy();
  await server.waitForApproval("t1");
  await server.reeve("approve", "t1");
  expect(await once(child, "close")).toEqual([0, null]);
  expect(complained).toBe("");
  expect((await server.runtime.run("t1").result()).status).toBe("completed");
});

test("shell completion offers the agents of the server and the allowed values", async () => {
  const terminal = new FakeTerminal();
  await main(["completion", "bash"], terminal);
  expect(terminal.said).toMatch(/reprioritize\) words=".* low normal high critical"/);
  await using server = await CliServer.open();
  const script = `reeve() { "${process.execPath}" ${entry.join(" ")} "$@"; }
${terminal.said}
COMP_WORDS=(reeve run le); COMP_CWORD=2; _reeve; echo "\${COMPREPLY[@]}"`;
  const env = { ...process.env, REEVE_URL: server.url };
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { env });
  expect(stdout).toBe("lead\n");
});

test("a watcher that leaves a tree sees whether the tree continues", async () => {
  await using server = await CliServer.open();
  void server.reeve("run", "lead", "publish", "--id", "t1");
  await server.waitForApproval("t1");
  const leave = async (): Promise<string> => {
    const terminal = server.terminal({ isTTY: true });
    const watching = main(["watch", "t1"], terminal);
    await expect.poll(() => terminal.type("q")).toBe(true);
    expect(await watching).toBe(0);
    return terminal.complained;
  };
  expect(await leave()).toBe("t1: continues\n");
  await server.reeve("pause", "t1");
  expect(await leave()).toBe("t1: paused\n  → reeve resume t1\n");
  await server.reeve("cancel", "t1");
});

test("a limit that ends a run is named once while it runs, and once on the receipt", async () => {
  await using server = await CliServer.open();
  const { said } = await server.reeve("run", "writer", "write", "--id", "t1", "--max-cost", "0.0001");
  const limit = "the tree's limit is $0.000100, $0 is used, and the next call does not fit\n";
  expect(said).toContain(`writer: started\nwriter: call denied: ${limit}writer: failed: cost budget, $0\n`);
  expect(said.split(limit)).toHaveLength(3);
});
