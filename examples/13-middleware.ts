// Middleware around model calls and tools: redact, cache, check, limit, retry, and fall back to another model.
import assert from "node:assert/strict";
import {
  agent,
  cache,
  createRuntime,
  fallback,
  ModelError,
  rateLimit,
  redact,
  retry,
  secret,
  timeout,
  tool,
  validate,
} from "reeve";
import { call, fail, say, scriptedModel } from "reeve/testing";
import { z } from "zod";
import { engine } from "./engine.ts";

const overloaded = new ModelError({ kind: "overloaded", message: "try later", unbilled: true });
const first = scriptedModel([fail(overloaded)], { id: "first" });
const second = scriptedModel(
  [call("send", { to: "[email-adrldopo]" }), say("Sent."), say('{"sent":1}')], // the second answer is not JSON
  { id: "second" },
);

const sent: string[] = [];
const send = tool({
  name: "send",
  description: "Sends the report",
  input: z.object({ to: z.string() }),
  risk: "high",
  idempotent: true,
  execute: async ({ to }) => `number ${sent.push(to)}`,
});

const writer = agent({
  name: "writer",
  model: first,
  tools: [send],
  permissions: "allow-all",
  middleware: {
    // The first is outermost: middleware inside `redact` never sees an address.
    chat: [
      redact({ restore: "arguments", key: secret("a key of the program") }),
      cache({ ttlS: 600 }),
      validate(z.object({ sent: z.number() })),
      fallback([second]),
      rateLimit({ key: "my-account", requestsPerMinute: 600 }),
      timeout({ seconds: 30 }),
    ],
    function: [retry({ maxRetries: 2 }), timeout({ seconds: 10 })],
  },
});

await using runtime = createRuntime({ agents: [writer], engine });
await runtime.serve({ port: 0 });
const result = await (await runtime.start(writer, "Send the report to ada@example.com.")).result();

console.log(result.output);
assert.equal(result.output, '{"sent":1}');
assert.deepEqual(sent, ["ada@example.com"]); // the tool received the real address
assert.ok(!JSON.stringify([first.requests, second.requests]).includes("ada@")); // no model was
