import { type Agent, AgentId, type Priority } from "reeve";
import { type StartLimits } from "#kernel";
import { apiKeys, createApiKey } from "reeve/server";
import { beforeEach, expect, test } from "vitest";
import { codeOf, type Reply } from "./ask.ts";
import { TestServer, inAYear } from "./test-server.ts";

/** Priorities with which runs have started, newest last. */
const priorities: Priority[] = [];

const quiet: Agent = {
  id: AgentId.of("quiet"),
  run: async (ctx) => {
    priorities.push(ctx.supervision.priority);
    await ctx.waitFor("end");
  },
};
const urgent: Agent = { ...quiet, id: AgentId.of("urgent"), priority: "critical" };

/** A server with one key that may start trees. */
async function open(options: {
  readonly limits?: StartLimits;
  readonly defaults?: StartLimits;
}): Promise<{ readonly site: TestServer; readonly start: (body?: object) => Promise<Reply> }> {
  const { limits, defaults = {} } = options;
  const { key, record } = createApiKey({
    tenant: "acme",
    scopes: ["run", "read"],
    expiresAt: inAYear,
    ...(limits && { limits }),
  });
  const site = await TestServer.open({ agents: [quiet, urgent], auth: apiKeys([record]), defaults });
  const start = (body: object = {}): Promise<Reply> =>
    site.post("/runs", { agent: "quiet", input: "go", id: "tree", ...body }, { key });
  return { site, start };
}

/** The limits that the tree was started with. */
async function limitsOf(site: TestServer): Promise<object> {
  const run = site.runtime.run("tree", { tenant: "acme" });
  const { tree, run: root } = await run.ledger();
  const { maxTokens, maxCostMicros, maxAgents } = tree;
  return { maxTokens, maxCostMicros, maxAgents, maxTurns: root?.maxTurns, priority: priorities.at(-1) };
}

const limits = {
  budget: { maxCostUsd: 2, maxTokens: 1_000, maxTurns: 9, deadlineS: 60 },
  priority: "low",
  maxAgents: 5,
} as const satisfies StartLimits;

beforeEach(() => void priorities.splice(0));

test("a tree that is started without limits gets the highest that its key allows", async () => {
  const { site, start } = await open({ limits });
  await using _ = site;
  expect((await start({ agent: "urgent" })).status).toBe(202);
  await expect
    .poll(() => limitsOf(site))
    .toEqual({ maxTokens: 1_000, maxCostMicros: 2_000_000, maxAgents: 5, maxTurns: 9, priority: "low" });
});

test("a key's limits lower the server's defaults, and a caller may ask for less", async () => {
  const defaults = {
    budget: { maxCostUsd: 1, maxTokens: 5_000 },
    priority: "background",
    maxAgents: 2,
  } as const;
  const { site, start } = await open({ limits, defaults });
  await using _ = site;
  expect((await start({ budget: { maxTurns: 3 }, spawn: { maxAgents: 4 } })).status).toBe(202);
  await expect
    .poll(() => limitsOf(site))
    .toEqual({
      maxTokens: 1_000,
      maxCostMicros: 1_000_000,
      maxAgents: 4,
      maxTurns: 3,
      priority: "background",
    });
});

test("without limits of the key the server's defaults hold, and a caller may ask for more", async () => {
  const defaults = { budget: { maxCostUsd: 1, maxTokens: 5_000 }, maxAgents: 2 };
  const { site, start } = await open({ defaults });
  await using _ = site;
  await start({ budget: { maxCostUsd: 3 }, priority: "high" });
  await expect
    .poll(() => limitsOf(site))
    .toEqual({
      maxTokens: 5_000,
      maxCostMicros: 3_000_000,
      maxAgents: 2,
      maxTurns: null,
      priority: "high",
    });
});

test.each([
  [{ budget: { maxCostUsd: 2.01 } }, "budget.maxCostUsd must be at most 2 with this key, got 2.01"],
  [{ budget: { maxTokens: 1_001 } }, "budget.maxTokens must be at most 1000 with this key, got 1001"],
  [{ budget: { maxTurns: 10 } }, "budget.maxTurns must be at most 9 with this key, got 10"],
  [{ budget: { deadlineS: 61 } }, "budget.deadlineS must be at most 60 with this key, got 61"],
  [{ deadlineS: 61 }, "budget.deadlineS must be at most 60 with this key, got 61"],
  [{ priority: "normal" }, "priority must be at most low with this key, got normal"],
  [{ spawn: { maxAgents: 6 } }, "spawn.maxAgents must be at most 5 with this key, got 6"],
])("%j is refused, with the allowed values", async (body, message) => {
  const { site, start } = await open({ limits });
  await using _ = site;
  const reply = await start(body);
  expect([reply.status, codeOf(reply)]).toEqual([403, "limit-exceeded"]);
  expect(reply.json).toMatchObject({ error: { message, allowed: limits } });
  expect((await site.runtime.runs.list({ tenant: "acme" })).items).toEqual([]);
});

test("invalid limits are refused where they are configured", async () => {
  const scopes = ["run"] as const;
  const make = (wrong: StartLimits) => () =>
    createApiKey({ tenant: null, scopes, expiresAt: inAYear, limits: wrong });
  expect(make({ budget: { maxTokens: -1 } })).toThrow(RangeError);
  expect(make({ maxAgents: 0 })).toThrow(RangeError);
  await expect(TestServer.open({ defaults: { budget: { maxCostUsd: NaN } } })).rejects.toThrow(RangeError);
});
