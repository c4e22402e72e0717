import { type Agent, AgentId, createRuntime } from "reeve";
import { createClient } from "reeve/client";
import { apiKeys, createApiKey } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";
import { TestServer, inAYear } from "./test-server.ts";

const writer: Agent = { id: AgentId.of("writer"), run: async () => "written" };

async function codeOf(failing: Promise<unknown>): Promise<unknown> {
  return failing.then(
    () => "done",
    (error: { readonly code: string }) => error.code,
  );
}

const keyOf = (tenant: string | null) =>
  createApiKey({ tenant, scopes: ["admin", "run", "read"], expiresAt: inAYear });

test("an admin's key disables agents for its tenant, one without a tenant for all tenants", async () => {
  const [acme, other, operator] = [keyOf("acme"), keyOf("other"), keyOf(null)];
  const auth = apiKeys([acme, other, operator].map(({ record }) => record));
  const runtime = createRuntime({ agents: [writer], store: memoryStore() });
  await using site = await TestServer.open({ runtime, auth });
  const clientOf = ({ key }: { readonly key: string }) => createClient({ url: site.url, key });
  const [ours, theirs, all] = [clientOf(acme), clientOf(other), clientOf(operator)];
  const start = (client: typeof ours) => codeOf(client.start("writer", "go"));

  await ours.switches.disable({ kind: "agent", name: "writer" }, { reason: "leaks" });
  expect([await start(ours), await start(theirs), await start(all)]).toEqual(["disabled", "done", "done"]);
  expect(await ours.switches.list()).toMatchObject([
    { kind: "agent", name: "writer", tenant: "acme", reason: "leaks", by: acme.record.id },
  ]);
  expect(await theirs.switches.list()).toEqual([]);
  expect(await ours.switches.enable({ kind: "agent", name: "writer" })).toBe(true);

  await all.switches.disable({ kind: "agent", name: "writer" });
  expect([await start(ours), await start(theirs), await start(all)]).toEqual(Array(3).fill("disabled"));
  // A tenant cannot enable what is disabled for all.
  expect(await ours.switches.enable({ kind: "agent", name: "writer" })).toBe(false);
  expect(await start(ours)).toBe("disabled");
  await all.switches.enable({ kind: "agent", name: "writer" });

  await theirs.switches.disable({ kind: "tenant" });
  expect([await start(ours), await start(theirs)]).toEqual(["done", "disabled"]);
  expect(await codeOf(all.switches.disable({ kind: "tenant" }))).toBe("invalid-request");
  expect(await codeOf(ours.switches.disable({ kind: "agent", name: "unknown" }))).toBe("not-found");
});
