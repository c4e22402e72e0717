import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { listen } from "reeve/server";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { freePort } from "../free-port.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { waiter } from "./fixtures/waiter.ts";

let server: RestateServer;
let folder: string;
const workers = new Set<ChildProcess>();

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-why-"));
});

afterAll(async () => {
  await Promise.all([...workers].map(kill));
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function work(build: string, version: string): Promise<ChildProcess> {
  const given = [server.ingress, server.admin, String(await freePort()), store(), build, version];
  const script = join(import.meta.dirname, "fixtures/waiter-worker.ts");
  const worker = fork(script, given, { execArgv: ["--conditions=reeve-source"] });
  workers.add(worker);
  await once(worker, "message");
  return worker;
}

async function kill(worker: ChildProcess): Promise<void> {
  const ended = once(worker, "exit");
  worker.kill("SIGKILL");
  await ended;
  workers.delete(worker);
}

const store = (): string => join(folder, "store.sqlite");

test("why explains a run with a missing build, another version or no worker, and the remedy", async () => {
  const { ingress, admin } = server;
  await using engine = restate({ ingress, admin, log: () => undefined });
  const runtime = createRuntime({
    agents: [waiter("1")],
    engine,
    store: await sqliteStore({ path: store() }),
  });
  await using listener = await listen({ runtime, port: 0 });
  const reeve = async (...words: readonly string[]): Promise<string> => {
    const terminal = new FakeTerminal({ environment: { REEVE_URL: listener.url } });
    expect(await main(words, terminal)).toBe(0);
    return terminal.said;
  };
  const expectWhy = async (words: RegExp): Promise<void> => {
    await expect.poll(() => reeve("why", "books"), { interval: 200 }).toMatch(words);
  };

  const first = await work("one", "1");
  await reeve("run", "waiter", "wait", "--id", "books", "--detach");
  await expectWhy(/^waiter: waiting .* for a signal, a message or a time/);
  await kill(first);
  const second = await work("two", "2");
  await reeve("signal", "books", "go");
  await expectWhy(/^waiter: waiting for a worker: no worker serves its build \(one\)\n/);
  expect(await engine.moveRuns({ from: "one" })).toEqual({ moved: 1, left: 0 });
  await expectWhy(
    /^waiter: waiting for a build with its version: .*\(two\) .*\n.* agent waiter is at version 2 here; the run began with 1\.\n[^]*→ reeve move two --to <the old build> --refused\n {2}→ reeve cancel books\n/,
  );
  await kill(second);
  expect(await reeve("why", "books")).toMatch(/^waiter: no worker answers; .*\n {2}Last known state:/);
  await work("one", "1");
  await engine.promote("one");
  await engine.moveRuns({ from: "two", to: "one" });
  await expectWhy(/^waiter completed: it answered\./);
});
