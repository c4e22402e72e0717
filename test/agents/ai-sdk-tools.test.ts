import { agent, aiSdkTools, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const given = { look_up: { execute: async () => "found" } };

test.for([
  [undefined, { untrusted: true, private: false }],
  [{ sensitivity: "private" }, { untrusted: true, private: true }],
  [
    { sensitivity: "private", trust: "trusted" },
    { untrusted: false, private: true },
  ],
] as const)("results of AI SDK tools with %j are labelled %j", async ([options, labels]) => {
  const clerk = agent({
    name: "clerk",
    model: scriptedModel([call("look_up", {}), say("done")]),
    tools: aiSdkTools(given, options),
    permissions: "allow-all",
  });
  await using runtime = createRuntime({ agents: [clerk] });
  expect(await (await runtime.start(clerk, "go")).result()).toMatchObject({ status: "completed", labels });
});
