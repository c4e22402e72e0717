import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, TenantId, UserId } from "reeve";
import { MemoryOwner } from "reeve/store";
import { type FoundMemory } from "#kernel";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { sqliteVectorStore } from "reeve/stores/sqlite-vec";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { keeper } from "./fixtures/memory-agent.ts";
import { eventually, killWorkers, startWorker } from "./worker-process.ts";
import { sample } from "../../effort.ts";

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-memory-"));
});

afterEach(killWorkers);

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

/** A turn writes a fact and its vector, the block, an erasure, the turn into the index, and the turn again and its vectors. */
const kills = [1, 2, 3, 4, 5, 6, 7].flatMap((n) => [[n, "before"] as const, [n, "after"] as const]);

const textOf = (found: FoundMemory): string =>
  found.kind === "fact" ? JSON.stringify(found.fact.value) : `${found.episode.role} ${found.episode.text}`;

test.each(sample(kills, 0.2))(
  "a worker killed at write %i to memory, %s it, loses nothing and doubles nothing",
  async (n, when) => {
    const path = join(folder, "memory.sqlite");
    const { ingress, admin } = server;
    await using store = await sqliteStore({ path });
    await using vectors = await sqliteVectorStore({ path: `${path}-vectors` });
    const engine = restate({ ingress, admin, log: () => undefined });
    await using runtime = createRuntime({ agents: [keeper], engine, store, vectors });
    const port = String(await freePort());
    const worker = (...more: readonly string[]): ReturnType<typeof startWorker> =>
      startWorker("memory-worker.ts", [ingress, admin, port, path, ...more]);
    const owner = { tenant: "acme", user: `ada-${n}-${when}` };
    const session = `talk-${n}-${when}`;
    const living = await worker();
    expect((await (await runtime.start(keeper, "first", { ...owner, session })).result()).status).toBe(
      "completed",
    );
    await eventually(async () => (await runtime.turn(session, owner)) === null);
    await killWorkers();
    await living.exit;

    const dying = await worker(String(n), when);
    const run = await runtime.start(keeper, "killed", { ...owner, session });
    await dying.exit;
    await worker();
    expect((await run.result()).status).toBe("completed");
    await eventually(async () => (await runtime.turn(session, owner)) === null);
    const facts = await runtime.memory.facts(owner, {});
    expect(facts.map(({ key }) => key)).toEqual(["first", "killed"]);
    const [block] = await runtime.memory.blocks(owner);
    expect(block).toMatchObject({ version: 2, text: "[first]\n[killed]" });
    const found = (await runtime.memory.recall("killed", owner)).map(textOf);
    expect(found.toSorted()).toEqual(['"fact killed"', "assistant done killed", "user killed"]);
    const kept = await vectors.list(
      { tenantId: TenantId.of(owner.tenant) },
      MemoryOwner.user(UserId.of(owner.user)),
      { after: null, limit: 100 },
    );
    expect(kept.filter(({ item }) => item.kind === "fact")).toHaveLength(2);
    expect(kept.filter(({ item }) => item.kind === "episode")).toHaveLength(4);
  },
);
