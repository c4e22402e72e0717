// A response cache in the store: what one worker was answered, another one need not ask again.
import assert from "node:assert/strict";
import { agent, cache, createRuntime, type StartOptions, TenantId, UserId } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";

// In production: postgresStore({ connectionString }).
const store = memoryStore();
const price = { input: 3_000_000, output: 15_000_000 };

/** Creates a worker, as each process has one. Workers share only the store. */
function createWorker() {
  const model = scriptedModel([say("Rainfall fell by 12 %.")], { price });
  const layer = cache({ where: "store", ttlS: 86_400, maxBytes: 16_000_000 });
  const writer = agent({ name: "writer", model, middleware: { chat: [layer] } });
  const runtime = createRuntime({ agents: [writer], store });
  const ask = async (options: StartOptions) => {
    const run = await runtime.start(writer, "Sum up the report.", { retention: "permanent", ...options });
    const { output, costMicros } = await run.result();
    const [step] = (await runtime.steps(run.runId, { tenant: options.tenant ?? "" })).items;
    return { output, costMicros, decisions: step?.manifest?.decisions.map(({ decision }) => decision) };
  };
  return { ask, model, runtime };
}

const [first, second] = [createWorker(), createWorker()];
const ann = { tenant: "acme", user: "ann" };

const asked = await first.ask(ann);
assert.ok(asked.costMicros > 0);

// The other worker makes no call. Its step records why, and costs nothing.
const answered = await second.ask(ann);
assert.equal(second.model.requests.length, 0);
assert.deepEqual(answered, { ...asked, costMicros: 0, decisions: ["answered from the store"] });

// Another user and another tenant are never given ann's answer.
await second.ask({ tenant: "acme", user: "bob" });
await second.ask({ tenant: "globex", user: "ann" });
assert.equal(second.model.requests.length, 2);

// The answers that ann has caused are erased with ann.
await second.runtime.store.eraseUser({ tenantId: TenantId.of("acme") }, UserId.of("ann"));
assert.ok((await second.ask(ann)).costMicros > 0);

for (const { runtime } of [first, second]) await runtime[Symbol.asyncDispose]();
console.log(answered.output, answered.costMicros);
