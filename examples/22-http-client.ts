// A tree over HTTP with the typed client, which needs only fetch: the same code runs in a browser.
import assert from "node:assert/strict";
import { agent, createRuntime, type OutputOf } from "reeve";
import { ClientError, createClient } from "reeve/client";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const reviewer = agent({
  name: "reviewer",
  model: scriptedModel([say('{ "score": 4, "notes": ["clear"] }')]),
  output: z.object({ score: z.number(), notes: z.array(z.string()) }),
});

const expiresAt = Date.now() + 3_600_000;
const { key, record } = createApiKey({ tenant: "acme", scopes: ["read", "run", "content"], expiresAt });
await using runtime = createRuntime({ agents: [reviewer], store: memoryStore() });
await using server = await listen({ runtime, port: 0, auth: apiKeys([record]) });

const client = createClient({ url: server.url, key });
// The type of the output follows from the agent; only its type is imported.
const run = await client.start<OutputOf<typeof reviewer>>("reviewer", "Review the report", {
  id: "review-7",
});

// Each event once, in order, also when the connection is cut in between.
for await (const event of run.events()) console.log(event.seq, event.type);

const { status, output } = await run.result();
assert.equal(status, "completed");
assert.deepEqual(output?.notes, ["clear"]);

// A refusal has the server's code.
const refused = await client.start("unknown", "Review").catch((error: unknown) => error);
assert.ok(refused instanceof ClientError && refused.code === "not-found" && refused.status === 404);
