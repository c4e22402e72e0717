import { AgentId, createRuntime, type Agent, type NumberedEvent } from "reeve";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { withProtocol } from "../../src/tree/protocol-number.ts";

const lead: Agent = {
  id: AgentId.of("lead"),
  run: async (ctx) => {
    ctx.record("flow.start", { flow: ctx.state === null ? "life 0" : "life 1" });
    if (ctx.state === null) return ctx.continueAs(1);
    await ctx.waitFor("go");
    return "done";
  },
};

test("an old execution's report is not booked after its run has continued in a new one", async () => {
  const engine = local();
  await using runtime = createRuntime({ agents: [lead], engine });
  const run = await runtime.start(lead, "go");
  await expect.poll(() => run.status()).toBe("waiting");
  const told = { type: "flow.start", at: Date.now(), attempt: null, payload: { flow: "life 0, late" } };
  const reports = [1, 2, 3].map((number) => ({ number, event: told }));
  const late = { run: run.runId, continuation: 0, reports, at: Date.now() };
  await engine.call({ type: "tree", key: `-/${run.treeId}` }, "take", withProtocol(late));
  await run.signal("go");
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  const flows = events.flatMap((event) => (event.type === "flow.start" ? [event.flow] : []));
  expect(flows).toEqual(["life 0", "life 1"]);
});
