import { AgentId, Runtime, type Agent } from "reeve";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";

const writer: Agent = { id: AgentId.of("writer"), run: async () => "done" };
const alone: Agent = { id: AgentId.of("alone"), run: async () => "done" };
const lead: Agent = {
  id: AgentId.of("lead"),
  run: async (ctx) => (await ctx.join(await ctx.spawn(writer, "go"))).output,
};

test.each([
  ["with nothing to erase", alone, {}],
  ["with something to erase", lead, {}],
  ["with a store", alone, { store: memoryStore() }],
] as const)("the last 1,000 finished trees are kept, %s", async (_, agent, options) => {
  await using runtime = new Runtime({ agents: [agent, writer], engine: local(), eraseAfterS: 0, ...options });
  const first = await runtime.start(agent, "go");
  expect(await first.result()).toMatchObject({ status: "completed" });
  for (let n = 0; n < 1_000; n++) await (await runtime.start(agent, "go")).result();
  await expect
    .poll(() => first.result().catch((error: unknown) => error))
    .toMatchObject({ code: "not-found" });
});
