// One agent, one question. The model is a real AI SDK provider; the server behind it is a fake that needs no key.
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { agent, createRuntime } from "reeve";
import { answers, fakeProvider } from "reeve/testing";
import { engine } from "./engine.ts";

await using double = await fakeProvider({
  script: answers([{ text: "Sales of heat pumps grew by 9 percent." }]),
});
const anthropic = createAnthropic({ baseURL: double.baseURL, apiKey: "none" });

const researcher = agent({
  name: "researcher",
  model: anthropic("claude-sonnet-4-5"),
  instructions: "Answer in one sentence.",
});

await using runtime = createRuntime({ agents: [researcher], engine });
await runtime.serve({ port: 0 }); // a durable engine needs a worker; the local one does not
const run = await runtime.start(researcher, "How did sales of heat pumps develop?", {
  budget: { maxCostUsd: 0.1 },
});
const result = await run.result();

console.log(result.output, `(${result.costMicros} micro-dollars)`);
assert.equal(result.output, "Sales of heat pumps grew by 9 percent.");
assert.equal(result.status, "completed");
assert.ok(result.costMicros > 0 && result.costMicros <= 100_000);
