import { ModelError } from "#kernel";
import { agent } from "reeve";
import { fail, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";

test("a long error of a model ends its run with that error, and is cut in the stream", async () => {
  const error = new ModelError({ kind: "billing", message: "x".repeat(300_000), unbilled: true });
  const writer = agent({ name: "writer", model: scriptedModel([fail(error)]) });
  await using t = testRuntime({ agents: [writer] });
  const run = await t.start(writer, "go");
  expect((await run.result()).error).toMatchObject({ code: "model", kind: "billing" });
  const told = (await t.events(run)).find(({ type }) => type === "model.end");
  expect(JSON.stringify(told).length).toBeLessThan(10_000);
});
