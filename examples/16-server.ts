// Trees over HTTP: a client with a key starts one, watches it, and resumes the stream after a broken connection.
import assert from "node:assert/strict";
import { AgentId, createRuntime, type Agent } from "reeve";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";

const researcher: Agent = {
  id: AgentId.of("researcher"),
  run: async (ctx) => {
    for (const page of ["sales", "prices", "subsidies"]) await ctx.emit({ read: page });
    return "three facts";
  },
};

// The key is shown only here: the record stores its hash.
const expiresAt = Date.now() + 3_600_000;
const { key, record } = createApiKey({ tenant: "acme", scopes: ["read", "run"], expiresAt });
await using runtime = createRuntime({ agents: [researcher], store: memoryStore() });
await using server = await listen({ runtime, port: 0, auth: apiKeys([record]) });

const authorization = `Bearer ${key}`;
const get = (path: string, more: Record<string, string> = {}): Promise<Response> =>
  fetch(server.url + path, { headers: { authorization, ...more } });
const post = (path: string, body: object): Promise<Response> => {
  const headers = { authorization, "content-type": "application/json" };
  return fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
};

const task = { agent: "researcher", input: "Report on heat pumps", id: "report" };
assert.equal((await post("/runs", task)).status, 202);

const idsIn = (text: string): string[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id = ""]) => id);
const whole = idsIn(await (await get("/runs/report/events")).text());
const rest = idsIn(await (await get("/runs/report/events", { "last-event-id": "2" })).text());
console.log(whole, rest);
assert.deepEqual(rest, whole.slice(2));

assert.equal((await fetch(`${server.url}/runs/report`)).status, 401); // no key
assert.equal((await post("/runs/report/top-up", {})).status, 403); // not its scope
assert.equal((await get("/runs?tenant=other")).status, 400); // the tenant follows from the key alone
