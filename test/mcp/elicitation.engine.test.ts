import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createRuntime, type Agent, type Runtime } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { pinTools } from "reeve/mcp";
import { afterAll, expect, test, vi } from "vitest";
import { killWorkers, startWorker } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { shopWriter } from "./fixtures/shop-writer.ts";
import { patienceMs } from "../effort.ts";

afterAll(killWorkers);

const address = {
  name: "shop",
  command: process.execPath,
  args: ["test/mcp/fixtures/shop-server.ts"],
};

const asClient = ({ ingress, admin }: RestateServer, writer: Agent): Runtime =>
  createRuntime({ agents: [writer], engine: restate({ ingress, admin }), approver: "human" });

test("a server's question is answered after worker, MCP server and Restate were killed and started again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-elicitation-"));
  const pins = join(folder, "pins.json");
  writeFileSync(pins, JSON.stringify({ servers: { shop: await pinTools(address) } }));
  const writer = shopWriter(pins);
  try {
    await using server = await restateServer({ baseDir: join(folder, "restate") });
    const given = [server.ingress, server.admin, `${await freePort()}`, pins];
    const worker = () => startWorker(resolve("test/mcp/fixtures/shop-worker.ts"), given);
    const first = await worker();
    const id = await (async () => {
      await using runtime = asClient(server, writer);
      const run = await runtime.start(writer, "go", { id: "order" });
      const asked = await vi.waitUntil(async () => (await run.approvals())[0], {
        timeout: patienceMs(),
        interval: 50,
      });
      expect(asked).toMatchObject({ asks: true, arguments: { question: "MCP server shop asks: Where to?" } });
      return asked.id;
    })();
    first.process.kill("SIGKILL");
    await first.exit;
    await server.kill();
    await server.restart();
    await worker();
    await using runtime = asClient(server, writer);
    const run = runtime.run("order");
    await run.edit(id, { street: "Park Lane" });
    expect(await run.result()).toMatchObject({
      status: "completed",
      output: [expect.stringContaining('{"action":"accept","content":{"street":"Park Lane"}}')],
    });
  } finally {
    await killWorkers();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
});
