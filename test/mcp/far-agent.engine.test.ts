import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { agent, createRuntime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { mcp, mcpServer, pinTools } from "reeve/mcp";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { sqliteStore } from "reeve/stores/sqlite";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, expect, test, vi } from "vitest";
import { killWorkers, startWorker } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { patient } from "./fixtures/patient.ts";
import { patienceMs } from "../effort.ts";

afterAll(killWorkers);

const waitUntil = <T>(found: () => T | Promise<T>) =>
  vi.waitUntil(found, { timeout: patienceMs(), interval: 20 });

test("a task survives the worker of the offered agent, and is followed to the result of the next worker", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-far-"));
  try {
    await using restated = await restateServer({ baseDir: join(folder, "restate") });
    const { ingress, admin } = restated;
    const path = join(folder, "store.sqlite");
    const port = `${await freePort()}`;
    const worker = () =>
      startWorker(resolve("test/mcp/fixtures/patient-worker.ts"), [ingress, admin, port, path]);
    const first = await worker();
    await using store = await sqliteStore({ path });
    await using offering = createRuntime({ agents: [patient], engine: restate({ ingress, admin }), store });
    const { key, record } = createApiKey({
      tenant: "acme",
      scopes: ["run"],
      expiresAt: Date.now() + 3_600_000,
    });
    const mounts = [mcpServer({ agents: [patient], waitS: 0.5 })];
    await using server = await listen({ runtime: offering, port: 0, auth: apiKeys([record]), mounts });
    const headers = { authorization: `Bearer ${key}` };
    const address = { name: "far", url: `${server.url}/mcp`, headers, allowHosts: ["127.0.0.1"] };
    await using far = mcp({
      ...address,
      pins: await pinTools(address),
      tools: { patient: { risk: "safe" } },
    });
    const model = scriptedModel([call("far_patient", { task: "wait" }), say("done")]);
    const lead = agent({ name: "lead", model, extensions: [far] });
    await using runtime = createRuntime({ agents: [lead] });
    const run = await runtime.start(lead, "go");
    await waitUntil(async () => (await run.status()) === "waiting");
    first.process.kill("SIGKILL");
    await first.exit;
    const { items } = await offering.runs.list({ tenant: "acme" });
    expect(items).toHaveLength(1);
    await worker();
    await offering.run(items[0]?.treeId ?? "", { tenant: "acme" }).signal("go", "three pumps");
    expect(await run.result()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("three pumps");
    expect((await offering.runs.list({ tenant: "acme" })).items).toHaveLength(1);
  } finally {
    await killWorkers();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
});
