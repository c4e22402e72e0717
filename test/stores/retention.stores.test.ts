import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ObjectContext, object } from "@restatedev/restate-sdk";
import { createRuntime, type RunHandle, type Runtime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { postgresStore } from "reeve/stores/postgres";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { AgentId, EventId, type HistoryRetention, RunId, type Store, TenantId, TreeId } from "#kernel";
import { lead, writer, placesOf } from "../engines/restate/fixtures/gossips.ts";
import { plainWorker } from "../engines/restate/plain-worker.ts";
import { killWorkers, startWorker } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { readable } from "../sealing/canaries.ts";
import { type PostgresServer, postgresServer } from "./postgres-server.ts";
import { expectWithin } from "../effort.ts";

const tenant = "acme";
const acme = { tenantId: TenantId.of(tenant) };
const endings = ["completed", "failed", "cancelled", "killed"] as const;

let folder: string;
let restateFolder: string;
let server: RestateServer;
let postgres: PostgresServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-retention-"));
  restateFolder = await mkdtemp(join(tmpdir(), "reeve-retention-restate-"));
  // Compressed files would hide the searched words.
  const env = {
    RESTATE_ROCKSDB_DISABLE_WAL_COMPRESSION: "true",
    RESTATE_ROCKSDB_DISABLE_L0_L1_COMPRESSION: "true",
  };
  server = await restateServer({ baseDir: restateFolder, env });
  postgres = await postgresServer();
});

afterEach(killWorkers);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, maxRetries: 3 });
  await rm(restateFolder, { recursive: true, maxRetries: 3 });
});

interface Place {
  /** Its address for the worker. */
  readonly where: string;
  readonly store: Store;
  readonly folder: string;
  /** Writes everything into the tables. Default: it is there. */
  readonly flush?: () => Promise<unknown>;
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  sqlite: async () => {
    const where = join(folder, "store.sqlite");
    return { where, store: await sqliteStore({ path: where }), folder };
  },
  postgres: async () => {
    const where = await postgres.database();
    return {
      where,
      store: await postgresStore({ connectionString: where }),
      folder: postgres.folder,
      // In the log, a page boundary may divide a word, and then no search finds it there.
      flush: () => postgres.query("checkpoint"),
    };
  },
};

/** Runs one tree for each ending, all of one retention. Returns them after their end, with the input of each. */
async function runTrees(
  runtime: Runtime,
  retention: HistoryRetention,
): Promise<readonly { readonly run: RunHandle; readonly told: string }[]> {
  return Promise.all(
    endings.map(async (ending) => {
      const told = `${ending}-${randomUUID()}`;
      return { run: await runtime.start(lead, told, { tenant, retention }), told };
    }),
  );
}

/** Writes a word as a program without seals would: the search must find it. */
async function writePlainly({ store }: Place, control: Readonly<Record<string, string>>): Promise<void> {
  const tree = TreeId.of("control");
  const base = { treeId: tree, runId: RunId.root(tree), agent: AgentId.of("writer"), at: 1, attempt: null };
  const event = { ...base, eventId: EventId.of(tree, "1"), type: "run.cancelling" } as const;
  await store.events.append(acme, tree, [{ ...event, seq: 1, reason: control["store"] ?? "" }]);
  const keep = async (ctx: ObjectContext): Promise<void> => ctx.set("state", control["engine"]);
  await using _ = await plainWorker(server, [object({ name: "plain", handlers: { keep } })]);
  expect((await fetch(`${server.ingress}/plain/a/keep`, { method: "POST" })).status).toBe(200);
}

const isDestroyed = async (store: Store, run: RunHandle): Promise<boolean> =>
  store.keys.get(acme, run.treeId).then(
    () => false,
    (error: { readonly code?: string }) => error.code === "key-destroyed",
  );

test.each(Object.keys(places))(
  "%s and Restate: after trees end no content is readable in any file, and readers get only lasting data",
  async (name) => {
    const place = await (places[name] ?? expect.unreachable)();
    const port = String(await freePort());
    const work = () => startWorker("gossips-worker.ts", [server.ingress, server.admin, port, place.where]);
    const first = await work();
    const engine = restate({ ...server, log: () => {} });
    await using runtime = createRuntime({
      agents: [lead, writer],
      engine,
      store: place.store,
      eraseAfterS: 1,
      maxRestarts: 0,
    });
    const trees = {
      permanent: await runTrees(runtime, "permanent"),
      run: await runTrees(runtime, "run"),
      none: await runTrees(runtime, "none"),
    };
    const all = Object.values(trees).flat();
    const open = all.filter(({ told }) => /^(cancelled|killed)/.test(told));
    for (const { run } of open) await expect.poll(() => run.status()).toBe("waiting");
    first.process.kill("SIGKILL");
    await first.exit;
    await work();
    for (const { run, told } of open) await (told.startsWith("killed") ? run.signal("go") : run.cancel());
    const before = await Promise.all(all.map(({ run }) => run.result()));
    const endedAt = performance.now();
    for (const { run } of all) await expect.poll(() => isDestroyed(place.store, run)).toBe(true);
    expectWithin(60_000, performance.now() - endedAt);

    const words = all.flatMap(({ told }) => [told, ...Object.values(placesOf(told))]);
    const control = { store: `control-${randomUUID()}`, engine: `control-${randomUUID()}` };
    await writePlainly(place, control);
    await place.flush?.();
    const canaries = { ...Object.fromEntries(words.map((word) => [word, word])), ...control };
    const search = async (): Promise<readonly string[]> => [
      ...(await readable(place.folder, canaries)),
      ...(await readable(restateFolder, canaries)),
    ];
    await expect.poll(search).toEqual(["store", "engine"]);

    await checkSteps(runtime, trees);
    const said = trees.permanent.map(({ told }) => placesOf(told));
    const left = await Promise.all(trees.permanent.map(({ run }) => run.result()));
    expect(left.map(({ erased }) => erased)).toEqual(endings.map(() => undefined));
    expect(left.map(({ output }) => output)).toEqual([said[0]?.output, null, null, said[3]?.output]);
    expect(left[1]?.error?.message).toBe(said[1]?.error);
    for (const [index, { run }] of trees.permanent.entries())
      expect(await tellingsOf(run)).toContain(said[index]?.emitted);
    for (const { run, told } of [...trees.run, ...trees.none]) {
      const { status, costMicros } = before[all.findIndex((tree) => tree.run === run)] ?? {};
      expect(await run.result()).toMatchObject({ status, costMicros, output: null, erased: true });
      expect(await tellingsOf(run)).not.toContain(told);
    }
    expect(before.map(({ status }) => status)).toEqual(
      [...endings, ...endings, ...endings].map((ending) => (ending === "killed" ? "completed" : ending)),
    );
  },
);

type Trees = Awaited<ReturnType<typeof runTrees>>;

/** Checks that steps of permanent trees can be read, and those of other trees are erased. */
async function checkSteps(runtime: Runtime, trees: Readonly<Record<HistoryRetention, Trees>>): Promise<void> {
  for (const { run, told } of trees.permanent) {
    const step = await runtime.prompt(`${run.runId}:model:2`, { tenant });
    expect(step).toMatchObject({ content: "recorded", isEqual: true });
    expect(JSON.stringify([step.prompt, step.answer])).toContain(placesOf(told).answer);
  }
  for (const { run } of [...trees.run, ...trees.none]) {
    const { items } = await runtime.steps(run.runId, { tenant });
    expect(items.map(({ content, manifest }) => [content, manifest])).toEqual([["erased", null]]);
  }
}

/** Returns the content of all its events. */
async function tellingsOf(run: RunHandle): Promise<string> {
  let text = "";
  for await (const event of run.events()) text += JSON.stringify(event);
  return text;
}
