// Webhooks: your service receives a signed request when a tree ends, at least once. It needs no connection to Reeve.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { agent, createRuntime } from "reeve";
import { say, scriptedModel } from "reeve/testing";
import { verifyWebhook, type VerifiedWebhook } from "reeve/webhooks";

const lead = agent({ name: "lead", model: scriptedModel([say("Heat pumps sell well.")]) });

// The receiver: it verifies each request, and fails at the first one, which is then retried.
const received: VerifiedWebhook[] = [];
const arrived = Promise.withResolvers<void>();
let secret = "";
let requests = 0;
const receiver = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (part: string) => {
    body += part;
  });
  request.on("end", () => {
    requests += 1;
    if (requests > 1) {
      received.push(verifyWebhook({ body, headers: request.headers, secrets: [secret] }));
      arrived.resolve();
    }
    response.writeHead(requests > 1 ? 204 : 503).end();
  });
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const address = receiver.address();
assert(address !== null && typeof address !== "string");
const url = `http://127.0.0.1:${address.port}/reeve`;

await using runtime = createRuntime({
  agents: [lead],
  webhooks: {
    // Only for a receiver on this machine: by default a webhook goes to public addresses, over https.
    addresses: { allowHttp: true, allow: ["127.0.0.1"] },
    backoff: { firstMs: 10 },
    pollIntervalMs: 20,
  },
});

// The secret is shown once. The receiver needs only this.
const webhook = await runtime.webhooks.set({ id: "ops", url, events: ["run.end", "budget.warning"] });
secret = webhook.secret ?? "";
assert.match(secret, /^whsec_/);

await (await runtime.start(lead, "How do heat pumps sell?", { id: "report" })).result();
await arrived.promise;
const [message] = received;
assert.equal(message?.type, "run.end");
assert.equal(message.data["treeId"], "report");
assert.equal(message.data["status"], "completed");
// Ids, status and cost: content is not included.
assert(!JSON.stringify(message).includes("Heat pumps"));

// An address inside the network is refused.
await assert.rejects(
  runtime.webhooks.set({ id: "inside", url: "http://169.254.169.254/latest/meta-data" }),
  /169\.254\.169\.254 is not a public address/,
);

// Another secret: for a day, requests are signed with both.
const rotated = await runtime.webhooks.rotateSecret("ops");
assert.notEqual(rotated.secret, secret);

receiver.closeAllConnections();
receiver.close();
