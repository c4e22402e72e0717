import { agent, createRuntime, languageModel, type NumberedEvent } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { expect, test } from "vitest";
import { tinyModel } from "../../tiny-model.ts";

test("a genuine model spawns a child, and the ledger has every token that it read and wrote", async () => {
  await using tiny = await tinyModel();
  await using server = await restateServer();
  const model = languageModel(tiny.model, {
    price: { input: 1_000_000, output: 2_000_000 },
    maxOutputTokens: 100,
  });
  const reviewer = agent({ name: "reviewer", model });
  const lead = agent({ name: "lead", model, team: [reviewer] });
  await using runtime = createRuntime({ agents: [lead, reviewer], engine: restate(server) });
  await runtime.serve({ port: 0 });

  const run = await runtime.start(lead, "ask the reviewer to check plans", { budget: { maxCostUsd: 0.01 } });
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  const { status, output, usage, costMicros, inDoubtMicros } = await run.result();

  expect([status, output]).toEqual(["completed", "plan"]);
  expect(events.flatMap((event) => (event.type === "spawn.admitted" ? [event.childAgent] : []))).toEqual([
    "reviewer",
  ]);
  const { usedInputTokens: input, usedOutputTokens: written } = tiny.meter();
  expect(usage).toMatchObject({ input, output: written });
  expect([costMicros, inDoubtMicros]).toEqual([input + 2 * written, 0]);
});
