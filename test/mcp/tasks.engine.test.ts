import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createRuntime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { pinTools } from "reeve/mcp";
import { afterAll, expect, test, vi } from "vitest";
import { killWorkers, startWorker } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { labWriter } from "./fixtures/lab-writer.ts";
import { serveTasks } from "./fixtures/task-server.ts";
import { patienceMs } from "../effort.ts";

afterAll(killWorkers);

test("a task is followed by the next worker after the polling worker is killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-tasks-"));
  const pins = join(folder, "pins.json");
  try {
    await using lab = await serveTasks();
    const address = { name: "lab", url: lab.url, allowHosts: ["127.0.0.1"] };
    writeFileSync(pins, JSON.stringify({ servers: { lab: await pinTools(address) } }));
    const writer = labWriter(lab.url, pins);
    await using server = await restateServer({ baseDir: join(folder, "restate") });
    const { ingress, admin } = server;
    const given = [ingress, admin, `${await freePort()}`, lab.url, pins];
    const worker = () => startWorker(resolve("test/mcp/fixtures/lab-worker.ts"), given);
    const first = await worker();
    await using runtime = createRuntime({ agents: [writer], engine: restate({ ingress, admin }) });
    const held = Promise.withResolvers<void>();
    lab.hold = held.promise;
    const run = await runtime.start(writer, "go");
    await vi.waitUntil(() => lab.polls > 0, { timeout: patienceMs(), interval: 20 });
    first.process.kill("SIGKILL");
    await first.exit;
    lab.tasks.set("task-1", { status: "completed", result: { content: [{ type: "text", text: "three" }] } });
    lab.hold = null;
    held.resolve();
    await worker();
    expect(await run.result()).toMatchObject({ status: "completed", output: ["three"] });
    expect(lab.calls).toHaveLength(1);
  } finally {
    await killWorkers();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
});
