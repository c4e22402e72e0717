import assert from "node:assert/strict";
import { Json, RetryableError, type RunContext } from "#kernel";
import { effect } from "./effect.ts";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { reaches } from "./history.ts";

const samples = 10_000;

/** Keys of a step and of a tool, and as many UUIDs and numbers as a collision would need to show. */
async function sample(ctx: RunContext, keys: string[]): Promise<Json> {
  await ctx.step("pay", ({ idempotencyKey }) => void keys.push(idempotencyKey));
  await ctx.tool("pay", null);
  const uuids = Array.from({ length: samples }, () => ctx.uuid());
  const numbers = Array.from({ length: samples }, () => ctx.random());
  return { uuids, numbers };
}

/** Section 9.1: keys and chance derive from a secret of the tree. */
export const treeSecretCases: readonly EngineCase[] = [
  {
    name: "9.1 trees of one id in two tenants share no idempotency key, UUID or random number",
    async run(harness) {
      const keys: string[] = [];
      const outputs: { readonly uuids: readonly string[]; readonly numbers: readonly number[] }[] = [];
      const pay = effect("pay", async (_, { idempotencyKey }) => keys.push(idempotencyKey), {
        idempotent: true,
      });
      const payer = agentOf("payer", (ctx) => sample(ctx, keys), { tools: [pay] });
      const id = `invoice-${crypto.randomUUID()}`;
      await onRuntime(harness, { agents: [payer] }, async (runtime) => {
        for (const tenant of ["acme", "globex"]) {
          const { output } = await (await runtime.start(payer, "pay", { tenant, id })).result();
          outputs.push(Json.as(output));
        }
      });
      assert.equal(new Set(keys).size, 4, "two keys for each tenant");
      assert.ok(keys.every((key) => !key.includes(id)));
      assert.equal(new Set(outputs.flatMap(({ uuids }) => uuids)).size, 2 * samples);
      assert.equal(new Set(outputs.flatMap(({ numbers }) => numbers)).size, 2 * samples);
    },
  },
  {
    name: "9.1 a replay and a retry get the same keys, UUIDs and random numbers",
    async run(harness) {
      const chances = new Set<string>();
      const keys: string[] = [];
      const lead = agentOf("lead", async (ctx) => {
        const before = [ctx.uuid(), ctx.random()];
        const made = await ctx.step(
          "flaky",
          ({ idempotencyKey }) => {
            keys.push(idempotencyKey);
            if (keys.length < 3) throw new RetryableError({ message: "not now" });
            return idempotencyKey;
          },
          { retry: { baseMs: 1 } },
        );
        await ctx.waitFor("go");
        chances.add(JSON.stringify([...before, made, ctx.uuid(), ctx.random()]));
        return null;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await reaches(run, "waiting");
        await run.signal("go");
        await run.result();
      });
      assert.deepEqual([keys.length, new Set(keys).size, chances.size], [3, 1, 1]);
    },
  },
];
