import { hash } from "node:crypto";
import { AgentId, Json, RunId, StepId, TreeId, type Agent, type Engine } from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { RunRandom, TreeSecret } from "../../src/tree/tree-secret.ts";

const root = RunId.root(TreeId.of("invoice-42"));

test("two secrets give no equal key, UUID or number in 10,000 samples", () => {
  const secrets = [TreeSecret.mint(), TreeSecret.mint()];
  const all = secrets.flatMap((secret) => {
    const random = new RunRandom(secret, root, 0);
    return Array.from({ length: 10_000 }, (_, index) => [
      TreeSecret.idempotencyKey(secret, StepId.of(root, "pay", index)),
      random.uuid(),
      String(random.number()),
    ]).flat();
  });
  expect(new Set(all).size).toBe(all.length);
});

test("the same place under the same secret gives the same values, another continuation gives others", () => {
  const secret = TreeSecret.mint();
  const values = (continuation: number): readonly (string | number)[] => {
    const random = new RunRandom(secret, root, continuation);
    return [random.uuid(), random.number(), random.uuid(), random.number()];
  };
  expect(values(0)).toEqual(values(0));
  expect(new Set([...values(0), ...values(1)]).size).toBe(8);
});

test("values have the form of UUIDs, and of numbers from 0 to below 1", () => {
  const random = new RunRandom(TreeSecret.mint(), root, 0);
  for (let index = 0; index < 1_000; index++) {
    expect(random.uuid()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    const number = random.number();
    expect(number >= 0 && number < 1).toBe(true);
  }
});

/** A local engine that shows the secrets of all starts. */
function engineShowingSecrets(): { readonly engine: Engine; readonly secrets: string[] } {
  const inner = local();
  const secrets: string[] = [];
  const call: Engine["call"] = (to, method, argument) => {
    if (method === "open") secrets.push(Json.as<{ readonly secret: string }>(argument).secret);
    return inner.call(to, method, argument);
  };
  return { engine: { ...inner, call }, secrets };
}

test("a repeated start keeps the secret of the first, and no event or list shows it", async () => {
  const { engine, secrets } = engineShowingSecrets();
  const keys: string[] = [];
  const agent: Agent = {
    id: AgentId.of("payer"),
    async run(ctx) {
      await ctx.waitFor("go");
      await ctx.step("pay", ({ idempotencyKey }) => void keys.push(idempotencyKey));
      return ctx.uuid();
    },
  };
  const store = memoryStore();
  const runtime = new Runtime({ agents: [agent], engine, store });
  const run = await runtime.start(agent, "pay", { id: "invoice-42" });
  await runtime.start(agent, "pay", { id: "invoice-42" });
  await run.signal("go");
  await run.result();
  const events: unknown[] = [];
  for await (const event of run.events()) events.push(event);
  const [first = "", second = ""] = secrets;
  expect(first).toMatch(/^[\w-]{22}$/);
  expect(second).not.toBe(first);
  expect(keys).toEqual([TreeSecret.idempotencyKey(first, StepId.of(run.runId, "pay", 1))]);
  const shown = JSON.stringify([events, await runtime.runs.list(), await run.status()]);
  expect(shown).not.toContain(first);
  expect(shown).not.toContain(hash("sha256", first));
  await runtime[Symbol.asyncDispose]();
});
