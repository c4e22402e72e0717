import { AgentId, createRuntime, type Agent, type Runtime } from "reeve";
import { type RestateEngine, type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  delegateEngine,
  delegateObject,
  type Engine,
  isJsonObject,
  type ObjectDefinition,
  type ObjectMethod,
} from "#kernel";
import { AesSeal, defaultKeys } from "#sealing";
import { protocolNumber } from "../../../src/tree/protocol-number.ts";
import { freePort } from "../../free-port.ts";
import { fresh, program } from "./counter-program.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const waiter: Agent = {
  id: AgentId.of("waiter"),
  run: async (ctx) => {
    await ctx.step("first", () => null);
    await ctx.waitFor("go");
    return "went";
  },
};

const plain =
  (method: ObjectMethod): ObjectMethod =>
  (object, argument) => {
    const context = delegateObject(object, {
      get: (name) => {
        const value = object.get(name);
        return value === null ? null : { v: protocolNumber, value };
      },
      set: (name, stored) => object.set(name, isJsonObject(stored) ? (stored["value"] ?? null) : stored),
    });
    return method(context, argument);
  };

const removeProtocolNumbers = (methods: ObjectDefinition["methods"]): ObjectDefinition["methods"] =>
  Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, plain(method)]));

/** A release whose stored values have no protocol number. */
const olderRelease = (inner: Engine): Engine =>
  delegateEngine(inner, {
    define: (given) => {
      const objects = given.objects.map((each) => ({
        ...each,
        methods: removeProtocolNumbers(each.methods),
        queries: removeProtocolNumbers(each.queries),
      }));
      inner.define({ ...given, objects });
    },
  });

const noValues = { under: "none", has: () => false };

/** A release that stores each value alone. */
const releaseWithoutTogether = (inner: Engine): Engine =>
  delegateEngine(inner, {
    define: (given) =>
      inner.define({ ...given, objects: given.objects.map((each) => ({ ...each, together: noValues })) }),
  });

async function worker(
  build: "old" | "new",
  port: number,
): Promise<{ readonly runtime: Runtime; readonly engine: RestateEngine }> {
  const engine = restate({ ...server, build, namespace: "older", requestTimeoutMs: 30_000, log: () => {} });
  const runtime = createRuntime({
    agents: [waiter],
    engine: build === "old" ? olderRelease(engine) : engine,
  });
  await runtime.serve({ port, deltas: null });
  return { runtime, engine };
}

test("a run of an older release waits, names the build it needs, and finishes there", async () => {
  const port = await freePort();
  const before = await worker("old", port);
  const { treeId } = await before.runtime.start(waiter, "go", { id: "t" });
  await expect.poll(() => before.runtime.run(treeId).status()).toBe("waiting");
  await before.runtime[Symbol.asyncDispose]();
  const between = await worker("new", port);
  const signalled = between.runtime.run(treeId).signal("go").catch(String);
  const blocker = await between.runtime.run(treeId).blocker();
  expect(blocker).toMatchObject({ kind: "release", build: "old" });
  expect(blocker?.lastError).toContain("has protocol 0, this worker understands");
  await between.runtime[Symbol.asyncDispose]();
  expect(await signalled).toContain("closed");
  const after = await worker("old", port);
  // The signal was refused, and is kept.
  expect((await after.engine.moveRuns({ from: "new", to: "old" })).moved).toBeGreaterThan(0);
  const result = await after.runtime.run(treeId).result();
  expect(result).toMatchObject({ status: "completed", output: "went" });
  await after.runtime[Symbol.asyncDispose]();
});

test("a run whose values were stored apart continues, and ends", async () => {
  const port = await freePort();
  const serve = async (wrap: (engine: Engine) => Engine): Promise<Runtime> => {
    const engine = restate({ ...server, build: "same", namespace: "apart", log: () => {} });
    const runtime = createRuntime({ agents: [waiter], engine: wrap(engine) });
    await runtime.serve({ port, deltas: null });
    return runtime;
  };
  const before = await serve(releaseWithoutTogether);
  const { treeId } = await before.start(waiter, "go");
  await expect.poll(() => before.run(treeId).status()).toBe("waiting");
  await before[Symbol.asyncDispose]();
  const after = await serve((engine) => engine);
  await after.run(treeId).signal("go");
  expect(await after.run(treeId).result()).toMatchObject({ status: "completed", output: "went" });
  expect((await after.run(treeId).ledger()).tree.liveAgents).toBe(0);
  await after[Symbol.asyncDispose]();
});

test("a call that an older release has sealed waits for that release, and is not lost", async () => {
  const engine = restate({ ...server, log: () => {} });
  engine.define(program);
  await engine.serve({ port: 0 });
  const { type, key } = fresh();
  const argument = AesSeal.of(key, await defaultKeys().getRing(key)).seal(Buffer.from("3"));
  const sent = await fetch(`${server.ingress}/reeve.counter/${key}/add/send`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: Buffer.from(argument),
  });
  expect(sent.status).toBe(202);
  const blocker = () => engine.objectBlocker?.({ type, key });
  await expect.poll(blocker).toMatchObject({ kind: "release", build: null });
  expect((await blocker())?.lastError).toContain("older-format: serve the release it was written with");
  await engine[Symbol.asyncDispose]();
});
