import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "reeve";
import { type RunRecord } from "reeve/store";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { isFull } from "../../effort.ts";
import { freePort } from "../../free-port.ts";
import { ticker } from "./fixtures/ticker.ts";
import { killWorkers, startWorker } from "./worker-process.ts";

/** Ticks of the schedule, one each second: 300 are five minutes. */
const ticks = Number(process.env["REEVE_SCHEDULE_TICKS"] ?? (isFull ? 22 : 12));

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-schedules-"));
});

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

const ticksOf = (found: readonly RunRecord[]): readonly number[] =>
  found.map(tickOf).toSorted((a, b) => a - b);

/** Lets ticks be missed: only time can pass for it. */
async function missTicks(count: number): Promise<void> {
  const until = Date.now() + count * 1000;
  await expect.poll(() => Date.now(), { interval: 50 }).toBeGreaterThan(until);
}

/** Creates the ways in which the workers and the Restate server are killed, and the counts of kills. */
function createDisturbances(work: () => Promise<unknown>) {
  const kills = { workers: 0, restate: 0 };
  const killWorker = (): Promise<void> => {
    kills.workers += 1;
    return killWorkers();
  };
  const killServer = (): Promise<void> => {
    kills.restate += 1;
    return server.kill();
  };
  const disturbances = [
    async () => {
      await killWorker();
      await missTicks(3);
      await work();
    },
    async () => {
      await killServer();
      await missTicks(3);
      await server.restart();
    },
    async () => {
      await Promise.all([killWorker(), killServer()]);
      await missTicks(2);
      await server.restart();
      await work();
    },
    async () => {
      await killWorker();
      await work();
    },
  ];
  return { disturbances, kills };
}

test(
  "11.3 each tick starts exactly one tree while workers and the Restate server are killed",
  async () => {
    const path = join(folder, "store.sqlite");
    const port = String(await freePort());
    await using store = await sqliteStore({ path });
    const engine = restate({ ingress: server.ingress, admin: server.admin, log: () => undefined });
    await using runtime = createRuntime({ agents: [ticker], engine, store });
    const work = () => startWorker("schedules-worker.ts", [server.ingress, server.admin, port, path]);
    const trees = async (): Promise<readonly RunRecord[]> =>
      (await runtime.runs.list({ tenant: "acme", rootsOnly: true }, { size: 1_000 })).items;
    /** Waits until two new ticks have started their trees. Ticks run in order, so all earlier ones have done so, too. */
    const catchUp = async (): Promise<void> => {
      const now = Date.now();
      const isCaughtUp = async (): Promise<boolean> =>
        (await trees()).filter((tree) => tickOf(tree) >= now).length >= 2;
      await expect.poll(isCaughtUp, { interval: 100 }).toBe(true);
    };
    const { disturbances, kills } = createDisturbances(work);

    await work();
    const schedule = { id: "each", cron: "* * * * * *", agent: ticker, input: "go", tenant: "acme" };
    const { setAt } = await runtime.schedules.set({ ...schedule, catchUp: "all" });
    await catchUp();
    for (let turn = 0; turn < disturbances.length || (await trees()).length < ticks; turn += 1) {
      await disturbances[turn % disturbances.length]?.();
      await catchUp();
    }
    expect(await runtime.schedules.remove("each", { tenant: "acme" })).toBe(true);
    await expect.poll(async () => (await trees()).every(({ status }) => status === "completed")).toBe(true);
    const first = Math.floor(setAt / 1000) * 1000 + 1000;
    // The list may lag: what a killed worker had begun to write is written again later.
    await expect
      .poll(async () => ticksOf(await trees()).findIndex((tick, index) => tick !== first + index * 1000))
      .toBe(-1);
    const found = await trees();
    const started = ticksOf(found);
    const latest = Math.max(...found.map((tree) => tree.startedAt - tickOf(tree)));
    process.stdout.write(
      `${found.length} ticks, ${new Set(started).size} different; killed: workers ${kills.workers} times, Restate ${kills.restate} times; the latest start was ${latest} ms after its tick; ${Math.round((Date.now() - setAt) / 1000)} s\n`,
    );
    expect(started).toEqual(found.map((_, index) => first + index * 1000));
  },
  ticks > 22 ? 4_000 * ticks : undefined,
);
