import { agent, createRuntime, tool, type Agent } from "reeve";
import { type RuntimeOptions } from "#runtime";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { firstByTree, loopbackSettings, openReceiver } from "./receiver.ts";

const send = tool({
  name: "send_email",
  description: "Send an email",
  input: z.object({ text: z.string() }),
  risk: "high",
  execute: async () => "sent",
});

const asks = call("send_email", { text: "canary of an argument" });
const ends = say("canary of an answer");

/** Asks for approval before it sends an email, in each of four consecutive trees. */
const writer = agent({
  name: "writer",
  model: scriptedModel([asks, ends, asks, ends, asks, ends, asks, ends]),
  tools: [send],
  permissions: { decide: () => "ask" },
});

const open = (agents: readonly Agent[], more: Partial<RuntimeOptions> = {}) => {
  const store = memoryStore();
  return createRuntime({ agents, store, approver: "human", webhooks: loopbackSettings, ...more });
};

/** Starts a tree, approves its call, and waits for its end. */
async function runTree(
  runtime: ReturnType<typeof open>,
  lead: Agent,
  options: { id: string; tenant: string },
) {
  const run = await runtime.start(lead, "canary of an input", options);
  for await (const event of run.events()) {
    if (event.type !== "approval.requested") continue;
    await runtime.approvals.decide(
      event.approvalId,
      { decision: "approved", by: "ann" },
      { tenant: options.tenant },
    );
  }
  return run.result();
}

test("a receiver that fails half of the time gets each event at least once, in order, signed", async () => {
  const secrets: string[] = [];
  await using receiver = await openReceiver({
    secrets: () => secrets,
    answer: (n) => (n % 2 === 0 ? 200 : 500),
  });
  await using runtime = open([writer]);
  const { secret = "", ...view } = await runtime.webhooks.set({
    id: "hook",
    url: receiver.url,
    tenant: "acme",
  });
  secrets.push(secret);
  expect(view).toMatchObject({ id: "hook", url: receiver.url, allRuns: false });
  expect(view.events).toEqual(["run.end", "approval.requested", "budget.warning"]);
  const all = receiver.waitForCount(8);
  const trees = ["t0", "t1", "t2", "t3"];
  for (const id of trees)
    expect((await runTree(runtime, writer, { id, tenant: "acme" })).status).toBe("completed");
  await all;
  const expected = trees.map((tree) => [tree, ["approval.requested", "run.end"]] as const);
  expect(firstByTree(receiver.accepted)).toEqual(new Map(expected));
  expect(receiver.requests()).toBeGreaterThanOrEqual(16);
  const [asked, ended] = receiver.accepted.filter(({ data }) => data["treeId"] === "t0");
  expect(asked?.data).toEqual({
    treeId: "t0",
    runId: "t0~0",
    agent: "writer",
    approvalId: expect.stringContaining("t0~0"),
    tool: "send_email",
  });
  expect(ended?.data).toMatchObject({
    status: "completed",
    stopReason: expect.any(String),
    costMicros: expect.any(Number),
  });
  expect(JSON.stringify(receiver.accepted)).not.toContain("canary");
});

test("the webhooks of a tenant get the events of its own trees, and of no others", async () => {
  const secrets = { acme: "", rival: "" };
  await using acme = await openReceiver({ secrets: () => [secrets.acme] });
  await using rival = await openReceiver({ secrets: () => [secrets.rival] });
  const lead = agent({ name: "lead", model: scriptedModel([say("done")]) });
  await using runtime = open([lead]);
  for (const [tenant, { url }] of [
    ["acme", acme],
    ["rival", rival],
  ] as const)
    secrets[tenant] = (await runtime.webhooks.set({ id: "hook", url, tenant })).secret ?? "";
  const both = Promise.all([acme.waitForCount(2), rival.waitForCount(1)]);
  for (const [id, tenant] of [
    ["a1", "acme"],
    ["r1", "rival"],
    ["a2", "acme"],
  ] as const)
    await (await runtime.start(lead, "go", { id, tenant })).result();
  await (await runtime.start(lead, "go", { id: "without-webhook" })).result();
  await both;
  expect(new Set(firstByTree(acme.accepted).keys())).toEqual(new Set(["a1", "a2"]));
  expect([...firstByTree(rival.accepted).keys()]).toEqual(["r1"]);
  expect(await runtime.webhooks.list()).toEqual([]);
  expect(await runtime.webhooks.get("hook")).toBeNull();
  expect(JSON.stringify(await runtime.webhooks.list({ tenant: "acme" }))).not.toContain("whsec_");
});

test("a receiver that never answers does not hold up the store", async () => {
  await using silent = await openReceiver({ secrets: () => [], answer: () => null });
  const lead = agent({ name: "lead", model: scriptedModel([say("done")]) });
  await using runtime = open([lead], { webhooks: { ...loopbackSettings, timeoutMs: 3_600_000 } });
  await runtime.webhooks.set({ id: "hook", url: silent.url });
  for (let n = 0; n < 8; n += 1) await (await runtime.start(lead, "go", { id: `t${n}` })).result();
  for (let n = 0; n < 8; n += 1)
    for await (const event of runtime.run(`t${n}`).events()) expect(event.treeId).toBe(`t${n}`);
  expect(await runtime.webhooks.get("hook")).toMatchObject({ pending: 8, dead: 0 });
});
