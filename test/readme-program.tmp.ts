import { createAnthropic } from "@ai-sdk/anthropic"; // any AI SDK language model
import { agent, createRuntime, tool } from "reeve";
import { providerDouble } from "reeve/testing";
import { z } from "zod"; // any Standard Schema

await using double = await providerDouble(); // a provider that needs no key and does as it is told
const model = createAnthropic({ baseURL: double.baseURL, apiKey: "none" })("claude-sonnet-4-5");
const look = tool({
  name: "look",
  description: "Look a fact up in the archive",
  input: z.object({ subject: z.string() }),
  risk: "safe", // high and critical ones need somebody's word
  execute: async ({ subject }) => `the ${subject} was built in 1287`,
});
const digger = agent({ name: "digger", model, tools: [look], budget: { maxTurns: 5 } });
const boss = agent({ name: "boss", model, team: [digger] }); // hires with ask_digger

await using runtime = createRuntime({ agents: [boss, digger] }); // local engine: nothing to install
const task = `call ask_digger ${JSON.stringify({ task: 'call look {"subject": "mill"}' })}`;
const limits = { budget: { maxCostUsd: 0.5 }, spawn: { maxAgents: 10 } }; // of the whole tree
const run = await runtime.start(boss, task, limits);
for await (const event of run.events()) console.log(event.seq, event.agent, event.type);
console.log(await run.result()); // { status, output, usage, spend, stopReason, ... }
