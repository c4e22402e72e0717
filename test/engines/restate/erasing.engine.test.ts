import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, AgentId, createRuntime, type Runtime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Json, type Store, TenantId } from "#kernel";
import { freePort } from "../../free-port.ts";
import { eventually } from "./worker-process.ts";

type Part = "events" | "approvals" | "keys";

const acme = { tenantId: TenantId.of("acme") };

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-erasing-"));
}, 60_000);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, maxRetries: 3 });
});

type Method = (...given: readonly unknown[]) => unknown;

/** The same object with another method of one name. */
function replaced<Target extends object>(
  target: Target,
  name: string,
  by: (found: Method) => unknown,
): Target {
  return new Proxy(target, {
    get(from, key) {
      const found: unknown = Reflect.get(from, key);
      if (typeof found !== "function") return key === name ? by(() => found) : found;
      const bound: Method = (...given) => Reflect.apply(found, from, given);
      return key === name ? by(bound) : bound;
    },
  });
}

/** A store of which one method fails after it has done its work: to whoever calls it, each time is the last. */
function failing(store: Store, part: Part, method: string, done: () => void): Store {
  const fail =
    (act: Method) =>
    async (...given: readonly unknown[]): Promise<never> => {
      await act(...given);
      done();
      throw new Error("lost");
    };
  return replaced(store, part, () => replaced(store[part], method, fail));
}

const talker: Agent = {
  id: AgentId.of("talker"),
  run: async (ctx) => {
    await ctx.emit("a word");
    return "another";
  },
};

/** Orders to projectors that are not carried out. */
async function openOrders(namespace: string): Promise<number> {
  const query = `SELECT id FROM sys_invocation WHERE target_service_name = '${namespace}.projector' AND status <> 'completed'`;
  const response = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  return Json.as<{ readonly rows: readonly Json[] }>(Json.of(await response.json())).rows.length;
}

test.each([
  ["events", "rewrite"],
  ["approvals", "erase"],
  ["keys", "destroy"],
] as const)("who comes after one that died behind %s.%s erases to the end", async (part, method) => {
  const namespace = `erasing-${part}`;
  const port = await freePort();
  const plain = await sqliteStore({ path: join(folder, `${part}.sqlite`) });
  const died = Promise.withResolvers<void>();
  const worker = async (store: Store): Promise<Runtime> => {
    const engine = restate({ ...server, namespace, log: () => undefined });
    const runtime = createRuntime({ agents: [talker], engine, store, eraseAfterS: 0.1 });
    await runtime.serve({ port });
    return runtime;
  };
  const first = await worker(failing(plain, part, method, died.resolve));
  const { runId, treeId } = await first.start(talker, "go", { tenant: "acme", retention: "run" });
  await died.promise;
  await first[Symbol.asyncDispose]();
  await using second = await worker(plain);
  const isDestroyed = (): Promise<boolean> =>
    plain.keys.get(acme, treeId).then(
      () => false,
      () => true,
    );
  await eventually(isDestroyed);
  await eventually(async () => (await openOrders(namespace)) === 0);
  expect(await second.run(runId, { tenant: "acme" }).result()).toMatchObject({ output: null, erased: true });
  const erasures = (await plain.audit.read(acme, 0, 100)).filter(({ kind }) => kind === "retention");
  expect(erasures).toHaveLength(1);
});
