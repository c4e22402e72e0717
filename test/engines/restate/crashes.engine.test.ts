import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Engine, Json } from "#kernel";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { fresh, launch, program, settle, waitUntil } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";

let server: RestateServer;
let engine: Engine;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  server = await restateServer();
});

afterEach(async () => {
  await engine[Symbol.asyncDispose]();
  await Promise.all(workers.splice(0).map((worker) => kill(worker)));
});

afterAll(() => server[Symbol.asyncDispose]());

test("another worker continues a run after its worker is killed inside a step", async () => {
  const port = await freePort();
  await Promise.all([startWorker(port), startWorker(port)]);
  engine = restate(server);
  engine.define(program);
  const tree = fresh();
  await engine.call(tree, "launch", null);
  const begun = await waitUntil<string[]>(engine, tree, "words", (words) => words.length === 2);
  const [first, victim] = [begun[0], workers.find(({ pid }) => begun[1] === `second ${pid}`)];
  expect(first).toBe("first");
  await kill(victim);
  await engine.call(tree, "add", 1);
  const words = await waitUntil<string[]>(engine, tree, "words", (said) => said.includes("end"));
  const survivor = workers.find((worker) => worker !== victim);
  expect(words).toEqual(["first", `second ${victim?.pid}`, `second ${survivor?.pid}`, "end"]);
});

test("a step that runs while the server is killed runs once, and calls wait for the server", async () => {
  engine = restate({ ...server, log: () => {} });
  engine.define(program);
  await engine.serve({ port: 0 });
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<Json>();
  let executed = 0;
  const { tree, result } = await launch(engine, async (primitives) => {
    const step = primitives.step("work", async () => {
      executed += 1;
      begun.resolve();
      return released.promise;
    });
    await settle(primitives, step);
    return settle(primitives, primitives.call(primitives.launch.tree, "add", 1));
  });
  await begun.promise;
  await server.kill();
  const meanwhile = engine.call(tree, "add", 10);
  await server.restart();
  expect(await meanwhile).toBe(10);
  released.resolve("done");
  expect(await result).toBe(11);
  expect(executed).toBe(1);
});

async function startWorker(port: number): Promise<void> {
  const script = join(import.meta.dirname, "fixtures/worker.ts");
  const worker = spawn(
    process.execPath,
    ["--conditions=reeve-source", script, server.ingress, server.admin, String(port)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  workers.push(worker);
  await once(worker.stdout, "data");
}

async function kill(worker: ChildProcess | undefined): Promise<void> {
  if (!worker || worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, "exit");
  worker.kill("SIGKILL");
  await ended;
}
