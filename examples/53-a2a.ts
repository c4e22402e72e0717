// A2A: an agent is offered to agents of other programs, behind the keys of the Reeve server. Their client gives it a task.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { Role, TaskState, type Message } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import { agent, createRuntime } from "reeve";
import { a2aServer } from "reeve/a2a";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { say, scriptedModel } from "reeve/testing";

const model = scriptedModel([say("Three sources agree.")]);
const researcher = agent({ name: "researcher", description: "Compares sources.", model });
const expiresAt = Date.now() + 3_600_000;
const { key, record } = createApiKey({ tenant: "acme", scopes: ["run"], expiresAt });
await using runtime = createRuntime({ agents: [researcher] });
// The card names the address, so a free port is found first.
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const { port } = Object.assign({ port: 0 }, probe.address());
await once(probe.close(), "close");
const url = `http://127.0.0.1:${port}`;
const mounts = a2aServer({ agents: [researcher], url });
await using _ = await listen({ runtime, port, auth: apiKeys([record]), mounts });

// The other program: it reads the card, and follows the task.
const fetchImpl: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${key}`);
  return fetch(input, { ...init, headers });
};
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await new ClientFactory(options).createFromUrl(url);
const content = { $case: "text", value: "Compare the sources." } as const;
const message: Message = {
  messageId: "1",
  contextId: "",
  taskId: "",
  role: Role.ROLE_USER,
  parts: [{ content, metadata: undefined, filename: "", mediaType: "text/plain" }],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
};
const request = { tenant: "", message, configuration: undefined, metadata: undefined };
const seen: unknown[] = [];
for await (const { payload } of client.sendMessageStream(request)) {
  if (payload?.$case === "artifactUpdate") seen.push(payload.value.artifact?.parts[0]?.content?.value);
  if (payload?.$case === "statusUpdate") seen.push(payload.value.status?.state);
}
assert.deepEqual(seen.slice(-2), ["Three sources agree.", TaskState.TASK_STATE_COMPLETED]);
