// Flows: workers in a fixed order, with the types checked along the chain.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { branch, loop, parallel, sequence } from "reeve/flows";
import { say, scriptedModel } from "reeve/testing";

const worker = (name: string, ...[first, ...rest]: readonly [string, ...string[]]) =>
  agent({ name, model: scriptedModel([say(first), ...rest.map((text) => say(text))]) });

const research = worker("research", "heat pumps");
const report = agent({
  name: "report",
  architecture: sequence(
    research,
    parallel([worker("costs", "They cost 9,000."), worker("noise", "They hum.")], {
      merge: (texts) => texts.join(" "),
    }),
    branch((draft: string) => (draft.length > 20 ? "long" : "short"), {
      long: worker("shorten", "9,000, and a hum"),
      short: (draft: string) => draft,
    }),
    loop(worker("polish", "9,000, and a hum!", "9,000, and a hum."), { until: (text) => text.endsWith(".") }),
  ),
});

await using runtime = createRuntime({ agents: [report] });
const run = await runtime.start(report, "Report on heating");
const { status, output } = await run.result();
assert.deepEqual([status, output], ["completed", "9,000, and a hum."]);

const flows: string[] = [];
for await (const event of run.events()) if (event.type === "flow.start") flows.push(event.flow);
assert.deepEqual(flows, ["sequence", "parallel", "branch", "loop"]);
