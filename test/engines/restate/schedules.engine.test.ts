import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type RunRecord } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { ticker } from "./fixtures/ticker.ts";
import { killWorkers, startWorker } from "./worker-process.ts";

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-schedules-"));
}, 300_000);

afterEach(killWorkers);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** The moment of the tick in the id of a tree. */
function tickOf({ treeId }: Pick<RunRecord, "treeId">): number {
  const [, time = ""] = treeId.split(".");
  const [, date = "", clock = ""] = /^(\d{8})T(\d{6})Z$/.exec(time) ?? [];
  return Date.parse(
    `${date.replace(/(....)(..)(..)/, "$1-$2-$3")}T${clock.replace(/(..)(..)(..)/, "$1:$2:$3")}Z`,
  );
}

/** Lets ticks be missed: only time can pass for it. */
async function missTicks(count: number): Promise<void> {
  const until = Date.now() + count * 1000;
  await expect.poll(() => Date.now(), { timeout: 120_000, interval: 50 }).toBeGreaterThan(until);
}

test("11.3 each tick starts exactly one tree while workers and the Restate server are killed", async () => {
  const path = join(folder, "store.sqlite");
  const port = String(await freePort());
  await using store = await sqliteStore({ path });
  const engine = restate({ ingress: server.ingress, admin: server.admin, log: () => undefined });
  await using runtime = createRuntime({ agents: [ticker], engine, store });
  const work = () => startWorker("schedules-worker.ts", [server.ingress, server.admin, port, path]);
  const trees = async (): Promise<readonly RunRecord[]> =>
    (await runtime.runs.list({ tenant: "acme", rootsOnly: true }, { size: 1_000 })).items;
  const reach = async (count: number): Promise<void> => {
    await expect
      .poll(async () => (await trees()).length, { timeout: 120_000, interval: 50 })
      .toBeGreaterThanOrEqual(count);
  };

  await work();
  const schedule = { id: "each", cron: "* * * * * *", agent: ticker, input: "go", tenant: "acme" };
  const { setAt } = await runtime.schedules.set({ ...schedule, catchUp: "all" });
  await reach(3);
  await killWorkers();
  await missTicks(3);
  await work();
  await reach(8);
  await server.kill();
  await missTicks(3);
  await server.restart();
  await reach(13);
  await Promise.all([killWorkers(), server.kill()]);
  await missTicks(2);
  await server.restart();
  for (const count of [16, 18, 20]) {
    await work();
    await reach(count);
    await killWorkers();
  }
  await work();
  await reach(22);
  expect(await runtime.schedules.remove("each", { tenant: "acme" })).toBe(true);
  await expect
    .poll(async () => (await trees()).every(({ status }) => status === "completed"), { timeout: 120_000 })
    .toBe(true);
  const found = await trees();
  const ticks = found.map(tickOf).toSorted((a, b) => a - b);
  const first = Math.floor(setAt / 1000) * 1000 + 1000;
  expect(ticks).toEqual(found.map((_, index) => first + index * 1000));
}, 600_000);
