import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Json, type NumberedEvent, TreeId } from "reeve";
import type { Store } from "reeve/store";
import { restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TreeModel } from "../../../src/view/index.ts";
import { counted, dollars } from "../../../ui/parts/amounts.ts";
import { freePort } from "../../free-port.ts";
import { Subscription } from "../../server/sse.ts";
import { children } from "./fixtures/steady-team.ts";
import { takeTap, tapScript } from "./live-tap.ts";
import { openContext, pageFolder, visit } from "./open-page.ts";

let restate: RestateServer;
let folder: string;
const processes = new Set<ChildProcess>();

beforeAll(async () => {
  restate = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-dashboard-"));
}, 300_000);

afterAll(async () => {
  for (const each of processes) each.kill("SIGKILL");
  await restate[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function begin(name: string, ...given: readonly string[]): Promise<ChildProcess> {
  const script = join(import.meta.dirname, `fixtures/${name}.ts`);
  const started = fork(script, [restate.ingress, restate.admin, ...given], {
    execArgv: ["--conditions=reeve-source"],
  });
  processes.add(started);
  await once(started, "message");
  return started;
}

async function kill(victim: ChildProcess): Promise<void> {
  const ended = once(victim, "exit");
  victim.kill("SIGKILL");
  await ended;
  processes.delete(victim);
}

/** The number of events that the store has of a tree. */
async function countEvents(store: Store, tree: string): Promise<number> {
  for (let after = 0; ;) {
    const found = await store.events.read({ tenantId: null }, TreeId.of(tree), { after, limit: 1000 });
    if (found.length === 0) return after;
    after += found.length;
  }
}

/** Returns all events of an ended tree, as served. */
async function eventsOf(origin: string, tree: string): Promise<readonly NumberedEvent[]> {
  const stream = await Subscription.to(`${origin}/runs/${tree}/events?deltas=false`, {});
  const messages = await stream.over();
  return messages.filter(({ id }) => id !== null).map(({ data }) => Json.as(JSON.parse(data)));
}

test("5 trees of 30 agents while worker and server are killed in turn: the page shows every event of each, once", async () => {
  const path = join(folder, "store.sqlite");
  const [workerPort, serverPort] = [String(await freePort()), String(await freePort())];
  const store = await sqliteStore({ path });
  let worker = await begin("steady-worker", workerPort, path);
  let server = await begin("steady-server", serverPort, path, pageFolder);
  const origin = `http://127.0.0.1:${serverPort}`;
  const trees = Array.from({ length: 5 }, (_, n) => `tree-${n}`);
  for (const id of trees) {
    const body = JSON.stringify({
      agent: "lead",
      input: "Prepare the report",
      id,
      budget: { maxCostUsd: 5 },
    });
    const headers = { "content-type": "application/json" };
    expect((await fetch(`${origin}/runs`, { method: "POST", headers, body })).status).toBe(202);
  }
  const context = await openContext();
  const tabs = [];
  for (const tree of trees)
    tabs.push({ tree, ...(await visit({ origin }, `/runs/${tree}`, { context, script: tapScript })) });
  const total = async (): Promise<number> =>
    (await Promise.all(trees.map((tree) => countEvents(store, tree)))).reduce((sum, each) => sum + each, 0);
  for (let round = 0; round < 2; round += 1) {
    const before = await total();
    await expect.poll(total, { timeout: 120_000 }).toBeGreaterThan(before + 100);
    await kill(worker);
    worker = await begin("steady-worker", workerPort, path);
    await kill(server);
    server = await begin("steady-server", serverPort, path, pageFolder);
  }
  for (const { tree, page, faults } of tabs) {
    await expect
      .poll(() => page.locator(".keys .right").textContent(), { timeout: 240_000 })
      .toMatch(/^event [\d,]+ · over$/);
    const events = await eventsOf(origin, tree);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const view = TreeModel.of(events).view;
    if (!view) throw new Error("there is a tree");
    expect(view.counts).toMatchObject({ agents: children + 1, live: 0 });
    expect(await page.locator(".keys .right").textContent()).toBe(
      `event ${events.length.toLocaleString("en-US")} · over`,
    );
    const head = (await page.locator(".head").textContent()) ?? "";
    const { costMicros, inDoubtMicros } = view.root;
    expect(head).toContain(`${dollars(costMicros - inDoubtMicros)} spent`);
    expect(head).toContain(dollars(inDoubtMicros));
    expect(head).toContain(counted(view.counts.calls, "call"));
    expect(head).toContain(`${children + 1} in all`);
    const numbers = (await takeTap(page)).messages.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(faults.filter((fault) => !fault.includes("ERR_CONNECTION"))).toEqual([]);
  }
  await store[Symbol.asyncDispose]();
}, 600_000);
