import { once } from "node:events";
import { readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { answers, call, fakeProvider } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packBeside } from "./packed.ts";
import { currentNode, installNode } from "./platform.ts";
import { installMs, Terminal } from "./terminal.ts";

const guide = readFileSync("docs/guide/cli.md", "utf8");

/** The screens of a section of the guide: each block that begins with a command, without that command. */
function screensOf(title: string): ReadonlyMap<string, string> {
  const section = guide.split(`### ${title}\n`)[1]?.split(/^##/m)[0] ?? "";
  const blocks = [...section.matchAll(/```\n\$ (.*)\n([^]*?)```/g)];
  return new Map(blocks.map(([, command = "", screen = ""]) => [command, screen]));
}

/** The program of a section of the guide. */
const programOf = (title: string): string =>
  /```ts\n([^]*?)```/.exec(guide.split(`### ${title}\n`)[1] ?? "")?.[1] ?? "";

/** A screen without what differs from run to run. */
const removeVariableParts = (text: string): string =>
  text.replaceAll(/\d+\.\ds/g, "0.0s").replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:7433");

/** A screen as one line: its lines end where the name of the folder makes them end. */
const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ");

let top = "";
let folder = "";
const terminals: Terminal[] = [];

function terminal(): Terminal {
  const opened = new Terminal(currentNode(), folder);
  terminals.push(opened);
  return opened;
}

beforeAll(async () => {
  ({ top, folder } = await packBeside("first"));
  await terminal().run("npm init -y --init-type=module");
  await terminal().run("npm install --no-audit --no-fund ../reeve/reeve-0.0.0.tgz");
}, installMs);

afterAll(async () => {
  for (const opened of terminals) await opened.close();
  rmSync(top, { recursive: true, force: true, maxRetries: 3 });
});

/** Follows the advice of a screen: the command behind the last arrow, or behind the last colon. */
async function follow(screen: string): Promise<void> {
  const [advice = ""] = /npm install .*/.exec(screen) ?? [];
  await terminal().run(`${advice} --no-audit --no-fund --ignore-scripts`);
}

test("the screen is enough to install missing packages", { timeout: installMs }, async () => {
  const screens = screensOf("Packages that are missing");
  writeFileSync(join(folder, "agents.ts"), programOf("Packages that are missing"));
  const refused = terminal().start("npx reeve dev --port 0");
  expect(await refused.exitCode()).toBe(5);
  expect(refused.printed).toBe(screens.get("npx reeve dev"));
  await follow(refused.printed);

  const dev = terminal().start("npx reeve dev --port 0");
  await dev.prints("npm install @ai-sdk/anthropic zod");
  const [line = ""] = /agents\.ts needs .*/.exec(dev.printed) ?? [];
  expect(guide).toContain(line);
  // The change of package.json is a new build.
  await follow(line);
  await dev.prints("ready: lead");
  await dev.interrupt();
});

test("the screen is enough to find and repair a tool that throws", async () => {
  const screens = screensOf("A tool that throws");
  const program = programOf("A tool that throws");
  await using provider = await keyedProvider("right", [
    call("inhabitants", { city: "Lisbon" }),
    "I could not find out.",
    call("inhabitants", { city: "Lisbon" }),
    "575,739 people.",
  ]);
  writeFileSync(join(folder, "agents.ts"), program);
  writeFileSync(join(folder, ".env"), `ANTHROPIC_API_KEY=right\nANTHROPIC_BASE_URL=${provider.url}\n`);
  const dev = terminal().start("npx reeve dev --port 0");
  await dev.prints("ready: lead");
  const command = 'npx reeve run lead "How many people live in Lisbon?" --id throwing';
  const shown = (text: string): string =>
    removeVariableParts(text).replaceAll(realpathSync(folder), "<folder>");
  expect(shown(await terminal().run(command))).toBe(removeVariableParts(screens.get(command) ?? ""));
  const explained = shown(await terminal().run("npx reeve why throwing"));
  expect(oneLine(explained)).toBe(oneLine(removeVariableParts(screens.get("npx reeve why throwing") ?? "")));
  const [stack = "nothing"] = /tool inhabitants threw .*\n.*/.exec(shown(dev.printed)) ?? [];
  expect(guide).toContain(stack);
  const [, line = "0"] = /agents\.ts:(\d+):/.exec(stack) ?? [];
  const wrong = program.split("\n")[Number(line) - 1] ?? "";
  const mended = wrong.replace("cities.get(city)!.inhabitants", "cities.get(city)?.inhabitants ?? 575_739");
  writeFileSync(join(folder, "agents.ts"), program.replace(wrong, mended));
  await dev.prints("build 2 ready: lead");
  const again = await terminal().run('npx reeve run lead "How many people live in Lisbon?"');
  expect(again).toContain("575,739 people.");
  expect(again).not.toContain("gets an error");
  await dev.interrupt();
});

test("the screen is enough to find and repair a wrong key", async () => {
  const screens = screensOf("A wrong key");
  await using provider = await keyedProvider("right");
  writeFileSync(join(folder, "agents.ts"), programOf("A wrong key"));
  const setKey = (key: string): void =>
    writeFileSync(join(folder, ".env"), `ANTHROPIC_API_KEY=${key}\nANTHROPIC_BASE_URL=${provider.url}\n`);
  setKey("wrong");
  const dev = terminal().start("npx reeve dev --port 0");
  await dev.prints("ready: lead");
  const command = 'npx reeve run lead "How many people live in Lisbon?" --id lisbon';
  const run = terminal().start(command);
  expect(await run.exitCode()).toBe(11);
  expect(removeVariableParts(run.printed)).toBe(removeVariableParts(screens.get(command) ?? ""));
  expect(removeVariableParts(await terminal().run("npx reeve why lisbon"))).toBe(
    removeVariableParts(screens.get("npx reeve why lisbon") ?? ""),
  );
  setKey("right");
  await dev.prints("build 2 ready: lead");
  expect(await terminal().run('npx reeve run lead "How many people live in Lisbon?"')).toContain(
    "575,739 people.",
  );
});

test.each(["18.20.8", "20.20.2"])("Node %s gets one line with the required version", async (version) => {
  const old = new Terminal(await installNode(version), folder).start("node node_modules/.bin/reeve runs");
  expect(await old.exitCode()).toBe(1);
  expect(old.printed).toBe(
    `reeve: Reeve needs Node 24 or Bun 1.4, or a newer one; this is Node ${version}\n`,
  );
});

/** A provider that takes one key. */
async function keyedProvider(
  key: string,
  script: Parameters<typeof answers>[0] = ["575,739 people."],
): Promise<AsyncDisposable & { readonly url: string }> {
  const double = await fakeProvider({ script: answers(script) });
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.headers["x-api-key"] !== key) {
      const error = { type: "authentication_error", message: "invalid x-api-key" };
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error }));
      return;
    }
    const body = await buffer(request);
    const answer = await fetch(`${double.baseURL}${(request.url ?? "").replace(/^\/v1/, "")}`, {
      method: "POST",
      headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": key },
      body: body,
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  };
  const server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await double.close();
    },
  };
}
