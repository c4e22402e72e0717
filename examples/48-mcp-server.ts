// MCP: an agent is a tool of an MCP server, behind the keys of the Reeve server. A client of another program calls it.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { agent, createRuntime } from "reeve";
import { mcpServer } from "reeve/mcp";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const output = z.object({ city: z.string(), people: z.number() });
const model = scriptedModel([say('{"city":"Bern","people":134000}')]);
const counter = agent({ name: "counter", description: "Counts the people of a city.", model, output });

const expiresAt = Date.now() + 3_600_000;
const { key, record } = createApiKey({ tenant: "acme", scopes: ["run"], expiresAt });
await using runtime = createRuntime({ agents: [counter] });
const mounts = [mcpServer({ agents: [counter] })];
await using server = await listen({ runtime, port: 0, auth: apiKeys([record]), mounts });

const client = new Client({ name: "example", version: "1" }, { versionNegotiation: { mode: "auto" } });
const requestInit = { headers: { authorization: `Bearer ${key}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
const { tools } = await client.listTools();
assert.deepEqual(
  tools.map(({ name }) => name),
  ["counter", "get_run", "cancel_run"],
);
const { structuredContent } = await client.callTool({ name: "counter", arguments: { task: "Bern" } });
assert.partialDeepStrictEqual(structuredContent, { city: "Bern", people: 134_000 });
await client.close();
