import { DisabledError, NotFoundError, TenantId } from "reeve";
import { type Engine } from "reeve/engine";
import { delegateEngine, Json } from "#kernel";
import { SwitchCache } from "#run";
import { Runtime } from "#runtime";
import { switchesAddress, withProtocol } from "#tree";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { agentOf, eventually } from "../../src/testing/engine-suite/harness.ts";
import { expectWithin } from "../effort.ts";

/** Makes steps until stopped, and records when each began. */
function ticker(began: number[]) {
  return agentOf("ticker", async (ctx) => {
    for (;;) await ctx.step("tick", () => void began.push(performance.now()));
  });
}

/** Sets a switch as another worker does: this process gets no notice. */
const setElsewhere = (engine: Engine, name: string, isDisabled: boolean): Promise<Json> =>
  engine.call(
    switchesAddress(null),
    "set",
    withProtocol({ kind: "agent", name, isDisabled, reason: null, by: null, operationId: name }),
  );

test("a switch that another worker sets stops the next step within a second", async () => {
  const began: number[] = [];
  const agent = ticker(began);
  const engine = local();
  await using runtime = new Runtime({ agents: [agent], engine });
  const run = await runtime.start(agent, "go");
  await eventually("it ticks", () => began.length > 10);
  await setElsewhere(engine, "ticker", true);
  const setAt = performance.now();
  await eventually("it is held", async () => (await run.status()) === "paused");
  const last = began.at(-1) ?? 0;
  expectWithin(1_000, last - setAt);
  const ticks = began.length;
  await setElsewhere(engine, "ticker", false);
  await eventually("it goes on", () => began.length > ticks + 10);
  await run.cancel();
});

test("the engine is asked about switches twice a second, not before every step", async () => {
  let reads = 0;
  const counting = (inner: Engine): Engine =>
    delegateEngine(inner, {
      define: (program) => {
        const objects = program.objects.map((object) => {
          const { read } = object.queries;
          if (object.type !== "switches" || !read) return object;
          const counted: typeof read = (...call) => {
            reads += 1;
            return read(...call);
          };
          return { ...object, queries: { ...object.queries, read: counted } };
        });
        inner.define({ ...program, objects });
      },
    });
  const clock = manualClock();
  const agent = agentOf("stepper", async (ctx) => {
    for (let step = 0; step < 200; step++) await ctx.step("tick", () => null);
  });
  await using runtime = new Runtime({ agents: [agent], engine: counting(local({ clock })), clock });
  await (await runtime.start(agent, "go")).result();
  expect(reads).toBe(1);
  await clock.advance(500);
  // A tenant without switches of its own is not asked about.
  for (const tenant of ["acme", "other"]) await (await runtime.start(agent, "go", { tenant })).result();
  expect(reads).toBe(2);
});

test("a switch holds in one tenant, and a lifted switch is not cached", async () => {
  const clock = { now: () => 0 };
  const cache = new SwitchCache(clock);
  const [acme, other] = [TenantId.of("acme"), TenantId.of("other")];
  const record = { kind: "agent", name: "writer", reason: null, by: null, at: 0 } as const;
  const set = new Set([switchesAddress(acme).key]);
  const call = async ({ key }: { readonly key: string }): Promise<Json> => ({
    switches: set.has(key) ? [record] : [],
    tenants: key === switchesAddress(null).key ? [...set] : [],
  });
  expect(await cache.find(call, { tenantId: acme, agent: "writer" })).toMatchObject({ object: "acme" });
  expect(await cache.find(call, { tenantId: other, agent: "writer" })).toBeNull();
  expect(await cache.find(call, { tenantId: null, agent: "writer" })).toBeNull();
  expect(await cache.find(call, { tenantId: acme, tool: "writer" })).toBeNull();
  set.clear();
  expect(await cache.find(call, { tenantId: acme, agent: "writer" })).toBeNull();
  // Fresh, and nothing is disabled: no promise.
  expect(cache.find(call, { tenantId: acme, agent: "writer" })).toBeNull();
});

/** A question that is never answered. */
const neverAnswers = (): Promise<never> => new Promise(() => undefined);

test("no step waits for a lost query of the switches, and an answer is used for less than a second", async () => {
  let now = 0;
  const cache = new SwitchCache({ now: () => now });
  const subject = { tenantId: null, agent: "writer" };
  void cache.find(neverAnswers, subject);
  await expect(cache.find(() => Promise.reject(new Error("gone")), subject)).rejects.toThrow("gone");
  expect(await cache.find(async () => ({ switches: [], tenants: [] }), subject)).toBeNull();
  now = 500;
  // One caller reads again, the others use the old answer until then.
  expect(cache.find(neverAnswers, subject)).toBeInstanceOf(Promise);
  expect(cache.find(neverAnswers, subject)).toBeNull();
  now = 899;
  expect(cache.find(neverAnswers, subject)).toBeNull();
  now = 900;
  expect(cache.find(neverAnswers, subject)).toBeInstanceOf(Promise);
});

test("disabled agents and tenants are listed and audited, with the actor", async () => {
  const agent = agentOf("writer", async () => null);
  await using runtime = new Runtime({ agents: [agent], engine: local(), store: memoryStore() });
  const { switches, audit } = runtime;
  await expect(switches.disable({ agent: "writr" })).rejects.toThrow(NotFoundError);
  await expect(switches.disable({ tool: "mail" }, { reason: "x".repeat(501) })).rejects.toThrow(RangeError);
  await switches.disable({ agent: "writer", tenant: "acme" }, { reason: "leaks", by: "ada" });
  await switches.disable({ tenant: "acme" });
  expect(await switches.list({ tenant: "acme" })).toMatchObject([
    { kind: "agent", name: "writer", tenant: "acme", reason: "leaks", by: "ada" },
    { kind: "tenant", name: "acme", reason: null, by: null },
  ]);
  expect(await switches.list()).toEqual([]);
  await expect(runtime.start(agent, "go", { tenant: "acme" })).rejects.toThrow(DisabledError);
  await (await runtime.start(agent, "go")).result();
  expect(await switches.enable({ tenant: "acme" }, { by: "bob" })).toBe(true);
  expect(await switches.enable({ tenant: "acme" })).toBe(false);
  const read = async () => (await audit.read({ tenant: "acme" })).map(({ kind, data }) => ({ kind, data }));
  await eventually("all is audited", async () => (await read()).length === 3);
  expect(await read()).toMatchObject([
    { kind: "switch", data: { decision: "disabled", what: "agent", name: "writer", by: "ada" } },
    { kind: "switch", data: { decision: "disabled", what: "tenant", name: "acme" } },
    { kind: "switch", data: { decision: "enabled", what: "tenant", by: "bob" } },
  ]);
});

test("500 held runs go on when their agent is enabled", async () => {
  const agent = agentOf("sleeper", async (ctx) => {
    await ctx.waitFor("go");
    return ctx.step("work", () => "done");
  });
  await using runtime = new Runtime({ agents: [agent], engine: local() });
  const runs = await Promise.all(Array.from({ length: 500 }, () => runtime.start(agent, "go")));
  await runtime.switches.disable({ agent: "sleeper" });
  await Promise.all(runs.map((run) => run.signal("go")));
  for (const run of runs) await eventually("it is held", async () => (await run.status()) === "paused");
  await runtime.switches.enable({ agent: "sleeper" });
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.every(({ output }) => output === "done")).toBe(true);
});

test("an answer that was on its way when this process changed a switch is not taken again", async () => {
  const cache = new SwitchCache(manualClock());
  const empty = { switches: [], tenants: [] };
  const first = Promise.withResolvers<Json>();
  const answers = [first.promise, Promise.resolve(Json.of(empty))];
  let asked = 0;
  const call = (): Promise<Json> => answers[asked++] ?? Promise.reject(new Error("asked too often"));
  const subject = { tenantId: null, agent: "writer" };
  const early = cache.find(call, subject);
  cache.forget(null);
  first.resolve(Json.of(empty));
  expect(await early).toBeNull();
  await cache.find(call, subject);
  expect(asked).toBe(2);
  expect(cache.find(call, subject)).toBeNull();
});
