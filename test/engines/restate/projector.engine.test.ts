import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type NumberedEvent } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { lead, writer } from "./fixtures/listed-agents.ts";
import { freePort } from "../../free-port.ts";
import { killWorkers, startWorker } from "./worker-process.ts";

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-projector-"));
});

afterEach(killWorkers);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test("another process reads a tree from the store without gap or duplicate while its workers are killed", async () => {
  const path = join(folder, "store.sqlite");
  const port = String(await freePort());
  const work = () => startWorker("stores-worker.ts", [server.ingress, server.admin, port, path]);
  const first = await work();
  const store = await sqliteStore({ path });
  await using runtime = createRuntime({ agents: [lead, writer], engine: restate(server), store });
  const run = await runtime.start(lead, "go", { tenant: "acme" });
  const events: NumberedEvent[] = [];
  const reading = (async () => {
    for await (const event of run.events()) events.push(event);
  })();
  await expect.poll(() => events.length).toBeGreaterThan(20);
  first.process.kill("SIGKILL");
  await first.exit;
  const second = await work();
  await run.signal("go");
  await expect.poll(() => events.length).toBeGreaterThan(60);
  second.process.kill("SIGKILL");
  await second.exit;
  await work();
  expect((await run.result()).output).toBe("done");
  await reading;
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length);
  const ends = events.filter(({ type }) => type === "run.end");
  expect(new Set(ends.map(({ runId }) => runId)).size).toBe(7);
  const tree = await runtime.runs.tree(run.treeId, { tenant: "acme" });
  expect(tree.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => "completed"));
  const { items } = await runtime.runs.list({ tenant: "acme", rootsOnly: true, status: "completed" });
  expect(items.map(({ runId }) => runId)).toEqual([run.runId]);
  const links = await runtime.audit.read({ tenant: "acme" });
  const spawned = events
    .filter(({ type }) => type === "spawn.admitted")
    .map(({ seq }) => `${run.treeId}/${seq}`);
  expect(links.filter(({ kind }) => kind === "spawn").map(({ source }) => source)).toEqual(spawned);
  expect(new Set(links.map(({ source }) => source)).size).toBe(links.length);
  expect(await runtime.audit.verify({ tenant: "acme" })).toMatchObject({ ok: true, length: links.length });
});
