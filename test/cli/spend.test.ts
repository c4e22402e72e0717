import { agent, Json } from "reeve";
import type { RunRecord } from "reeve/store";
import { call, manualModel, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { priced, CliServer } from "./cli-server.ts";

test("a list shows a live tree's reservations apart from its cost, and a cancelled tree's result", async () => {
  const model = manualModel();
  const researcher = agent({ name: "researcher", model: priced(model), maxOutputTokens: 1_000 });
  const lead = agent({
    name: "lead",
    model: priced(scriptedModel([call("ask_researcher", { task: "find out" })])),
    team: [researcher],
  });
  await using server = await CliServer.open({ agents: [lead, researcher] });
  const { treeId } = await server.runtime.start(lead, "report", { id: "t1", budget: { maxCostUsd: 1 } });
  await expect.poll(() => model.calls.length).toBe(1);
  const record = async (): Promise<RunRecord> => {
    const { said } = await server.reeve("runs", "--json");
    return Json.as<RunRecord>(JSON.parse(said));
  };
  await expect.poll(async () => (await record()).reservedMicros).toBeGreaterThan(0);
  const live = await record();
  expect(live.costMicros).toBeLessThan(1_000);
  expect(live.reservedMicros).toBeGreaterThan(10_000);
  expect((await server.reeve("runs")).said).toMatch(/cost +reserved +started/);

  await server.reeve("cancel", "t1");
  const result = await server.runtime.run(treeId).result();
  expect(result.inDoubtMicros).toBeGreaterThan(0);
  // The settlement of the interrupted call may follow the end of the run.
  await expect.poll(record).toMatchObject({
    status: "cancelled",
    costMicros: result.costMicros,
    inDoubtMicros: result.inDoubtMicros,
    reservedMicros: 0,
  });
  const shown = (await server.reeve("tree", "t1")).said;
  const why = (await server.reeve("why", "t1")).said;
  expect(shown).toMatch(/^∅ cancelled · \$0\.0152 of \$1\.00, \$0\.0151 in doubt/);
  expect(shown).toContain("\ntotal $0.015177 · ");
  expect(why).toContain(
    "made 1 model call and cost $0.015177 with its children, $0.015072 of it in doubt.\n",
  );
});
