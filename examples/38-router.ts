// Router: one call of the leader's model decides which worker gets the whole task.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { router } from "reeve/architectures";
import { say, scriptedModel } from "reeve/testing";
import { engine } from "./engine.ts";

const small = (answer: string) => scriptedModel([say(answer)], { id: "small" });
const billing = agent({ name: "billing", description: "Invoices and payments", model: small("It is paid.") });
const support = agent({ name: "support", description: "Faults and repairs", model: small("Press reset.") });
const general = agent({ name: "general", model: small("A person will call you.") });

const model = scriptedModel([
  say('{"route": "billing", "confidence": 0.9}'),
  say('{"route": "support", "confidence": 0.2}'),
]);
const desk = agent({
  name: "desk",
  model,
  architecture: router({ routes: [billing, support], fallback: general }),
});

await using runtime = createRuntime({ agents: [desk], engine });
await runtime.serve({ port: 0 });
const sure = await runtime.start(desk, "Is invoice 17 paid?");
const { output, usage } = await sure.result();
assert.equal(output, "It is paid.");
assert.equal(usage.input + usage.output, (1 + 1) * 15);

// A guess with little confidence goes to the fallback.
const unsure = await runtime.start(desk, "Hello?");
assert.equal((await unsure.result()).output, "A person will call you.");
