import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";

/** For busy machines. */

let folder: string;
const servers: ChildProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-chat-"));
});
afterAll(async () => {
  for (const server of servers) server.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

const node = (file: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawn(process.execPath, ["--conditions=reeve-source", file, ...words], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });

/** Starts a server over the same store. Resolves with its address. */
async function serve(port: string): Promise<{ readonly url: string; readonly kill: () => Promise<void> }> {
  const server = node("test/cli/fixtures/chat-server.ts", [port, join(folder, "store.db")]);
  servers.push(server);
  const [url] = await once(server.stdout, "data");
  const kill = async (): Promise<void> => {
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  return { url: String(url).trim(), kill };
}

test("a conversation continues after its server was killed between two messages", async () => {
  const first = await serve("0");
  const terminal = new FakeTerminal({ isTTY: true, environment: { NO_COLOR: "1", REEVE_URL: first.url } });
  const over = main(["chat", "lead", "--session", "s"], terminal);
  const say = async (line: string): Promise<void> => {
    await expect.poll(() => terminal.isAsking).toBe(true);
    terminal.enter(line);
    await expect.poll(() => terminal.isAsking).toBe(true);
  };
  await say("one");
  await first.kill();
  await say("lost");
  expect(terminal.complained).toContain(`no server answers at ${first.url}`);
  const second = await serve(new URL(first.url).port);
  await say("two");
  expect(terminal.said).toBe("1: one\n3: two\n");
  terminal.enter(null);
  expect(await over).toBe(0);
  // Another process at another terminal, with lines from a pipe.
  const other = node("src/cli/main.ts", ["chat", "lead", "--session", "s"], { REEVE_URL: second.url });
  other.stdin.end("three\n/history\n");
  expect(await text(other.stdout)).toBe("5: three\n> one\n1: one\n> two\n3: two\n> three\n5: three\n");
  await second.kill();
});
