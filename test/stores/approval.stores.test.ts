import { once } from "node:events";
import { createServer } from "node:http";
import { createAnthropic } from "@ai-sdk/anthropic";
import { agent, createRuntime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { postgresStore } from "reeve/stores/postgres";
import { commandScript, fakeProvider } from "reeve/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { killWorkers, startWorker } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { type PostgresServer, postgresServer } from "./postgres-server.ts";

let server: RestateServer;
let postgres: PostgresServer;

beforeAll(async () => {
  server = await restateServer();
  postgres = await postgresServer();
});

afterEach(killWorkers);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

test("7.6 a question outlives worker, Restate and Postgres; once decided the run goes on, and the model is not asked again", async () => {
  await using double = await fakeProvider({ script: commandScript() });
  const mailed: string[] = [];
  const officePort = await freePort();
  const office = createServer((request, response) => {
    request.setEncoding("utf8").on("data", (text: string) => mailed.push(text));
    request.on("end", () => response.end());
  }).listen(officePort, "127.0.0.1");
  await once(office, "listening");
  const connectionString = await postgres.database();
  const port = String(await freePort());
  const work = () =>
    startWorker("careful-worker.ts", [
      server.ingress,
      server.admin,
      port,
      connectionString,
      double.baseURL,
      `http://127.0.0.1:${officePort}`,
    ]);
  const first = await work();
  const model = createAnthropic({ baseURL: double.baseURL, apiKey: "none" })("claude-sonnet-4-5");
  const writer = agent({ name: "writer", model });
  const engine = restate({ ...server, log: () => {} });
  const store = await postgresStore({ connectionString });
  await using runtime = createRuntime({ agents: [writer], engine, store });
  const run = await runtime.start(writer, 'call mail {"to": "ada"}', { tenant: "acme" });
  const pending = async () => (await runtime.approvals.list({ tenant: "acme", state: "pending" })).items;
  await expect.poll(async () => (await pending()).length).toBe(1);
  const asked = double.bill.entries.length;

  first.process.kill("SIGKILL");
  await first.exit;
  await server.restart();
  await postgres.kill();
  await postgres.restart();
  await work();

  const [question] = await pending();
  expect(question).toMatchObject({ tool: "mail", agentId: "writer", arguments: { to: "ada" } });
  expect(mailed).toEqual([]);
  const approved = { decision: "approved", by: "ann", hash: question?.hash } as const;
  await expect(runtime.approvals.decide(question?.id ?? "", approved)).rejects.toMatchObject({
    code: "not-found",
  });
  await runtime.approvals.decide(question?.id ?? "", approved, { tenant: "acme" });
  expect(await run.result()).toMatchObject({ status: "completed", output: "sent" });
  expect(mailed).toHaveLength(1);
  expect(double.bill.entries.length).toBe(asked + 1);
  office.close();
});
