import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, AgentId, createRuntime, type Runtime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Json, type Store, TenantId, type TreeId } from "#kernel";
import { freePort } from "../../free-port.ts";
import { eventually } from "./worker-process.ts";

type Part = "runs" | "events" | "approvals" | "keys";

const acme = { tenantId: TenantId.of("acme") };

let server: RestateServer;
let folder: string;

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-erasing-"));
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, maxRetries: 3 });
});

type Method = (...given: readonly unknown[]) => unknown;

/** The same object with another method of one name. */
function replaceMethod<Target extends object>(
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

/** A store with one method that fails after its work: to the caller, each time looks like a crash. */
function failAfter(store: Store, part: Part, method: string, done: () => void): Store {
  const fail =
    (act: Method) =>
    async (...given: readonly unknown[]): Promise<never> => {
      await act(...given);
      done();
      throw new Error("lost");
    };
  return replaceMethod(store, part, () => replaceMethod(store[part], method, fail));
}

const researcher: Agent = {
  id: AgentId.of("researcher"),
  run: async (ctx) => {
    await ctx.emit("a word");
    return "another";
  },
};

/** Orders to projectors that are not carried out. */
async function openOrders(namespace: string): Promise<number> {
  const orders = `SELECT id FROM sys_invocation WHERE target_service_name = '${namespace}.projector' AND status <> 'completed'`;
  return (await query(orders)).length;
}

async function query(text: string): Promise<readonly Json[]> {
  const response = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: text }),
  });
  return Json.as<{ readonly rows: readonly Json[] }>(Json.of(await response.json())).rows;
}

/** A worker that dies after a write to its store, repeatedly, until another one takes over. */
async function crashAfter(part: Part, method: string, then: (store: Store, tree: TreeId) => Promise<void>) {
  const namespace = `erasing-${part}-${method}`;
  const port = await freePort();
  const store = await sqliteStore({ path: join(folder, `${namespace}.sqlite`) });
  const worker = async (on: Store): Promise<Runtime> => {
    const engine = restate({ ...server, namespace, log: () => undefined });
    const runtime = createRuntime({ agents: [researcher], engine, store: on, eraseAfterS: 0.1 });
    await runtime.serve({ port });
    return runtime;
  };
  const died = Promise.withResolvers<void>();
  const first = await worker(failAfter(store, part, method, died.resolve));
  const { runId, treeId } = await first.start(researcher, "go", { tenant: "acme", retention: "run" });
  await died.promise;
  await first[Symbol.asyncDispose]();
  await then(store, treeId);
  const second = await worker(store);
  const isDestroyed = (): Promise<boolean> =>
    store.keys.get(acme, treeId).then(
      () => false,
      () => true,
    );
  await eventually(isDestroyed);
  await eventually(async () => (await openOrders(namespace)) === 0);
  return { store, runtime: second, run: second.run(runId, { tenant: "acme" }) };
}

test.each([
  ["events", "rewrite"],
  ["approvals", "erase"],
  ["keys", "destroy"],
] as const)(
  "after a worker died behind %s.%s the next worker completes the erasure",
  async (part, method) => {
    const { store, runtime, run } = await crashAfter(part, method, async () => undefined);
    await using _ = runtime;
    expect(await run.result()).toMatchObject({ output: null, erased: true });
    const erasures = (await store.audit.read(acme, 0, 100)).filter(({ kind }) => kind === "retention");
    expect(erasures).toHaveLength(1);
  },
);

test("an order is not retried forever if the key of its tree is destroyed", async () => {
  const { runtime } = await crashAfter("runs", "put", (store, tree) => store.keys.destroy(acme, tree));
  await runtime[Symbol.asyncDispose]();
});

test("the engine deletes the files of an erased tree", async () => {
  const namespace = "erasing-content";
  const engine = restate({ ...server, namespace, log: () => undefined });
  const store = await sqliteStore({ path: join(folder, `${namespace}.sqlite`) });
  await using runtime = createRuntime({ agents: [researcher], engine, store, eraseAfterS: 1 });
  await runtime.serve({ port: 0 });
  const file = { mediaType: "image/png", data: new Uint8Array(100_000) };
  const options = { tenant: "acme", id: "files", retention: "none" } as const;
  const run = await runtime.start(researcher, { files: [file] }, options);
  const names = async (): Promise<readonly string[]> => {
    const found = await query(`SELECT key FROM state WHERE service_name = '${namespace}.content'`);
    return Json.as<readonly { readonly key: string }[]>(Json.of(found)).map(({ key }) => key);
  };
  const part = (await names()).find((key) => key.startsWith("part/"));
  expect(part).toBeDefined();
  await run.result();
  await expect.poll(names).toEqual(["closed"]);
  const name = part?.split("/")[1] ?? "";
  await expect.poll(() => runtime.store.keys.get(acme, run.treeId).catch(() => null)).toBe(null);
  expect(await engine.call({ type: "content", key: "acme/files" }, "get", { name, part: 0 })).toBe(null);
});
