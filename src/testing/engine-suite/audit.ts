import assert from "node:assert/strict";
import { allowAll } from "#agents";
import { type AuditEntry, isJsonObject, type Store } from "#kernel";
import type { Runtime } from "#runtime";
import { memoryStore } from "#stores/memory";
import { effect } from "./effect.ts";
import { agentOf, type EngineCase, eventually, forever, onRuntime } from "./harness.ts";
import { waitForEvent } from "./history.ts";
import { ask, greedyModel, prompt, tokenPrice } from "./spender.ts";

const tenant = "acme";
/** Part of every text in the tree. */
const words = "mother's maiden name";

const waiter = agentOf("waiter", forever);
const writer = agentOf("writer", forever, { policy: { permissions: allowAll } });

/** Causes every kind of decision, then waits to be cancelled. */
const lead = agentOf(
  "lead",
  async (ctx) => {
    await ctx.spawn(writer, words);
    await ctx.spawn(writer, words).catch(() => null);
    await ctx.tool("look", words);
    await ctx.tool("shred", words);
    await ctx.tool("mail", words);
    await ctx.checkGuardrails("input", words);
    await ctx.llm(prompt, ask(100));
    await ctx.llm(prompt, ask(100)).catch(() => null);
    return forever(ctx);
  },
  {
    model: greedyModel({ price: tokenPrice, reports: () => null }),
    tools: [
      effect("look", async () => words),
      { ...effect("shred", async () => words), risk: "critical" },
      { ...effect("mail", async () => words), risk: "high" },
    ],
    budget: { maxTokens: 150 },
    policy: { guardrails: [{ name: "manners", onInput: () => ({ kind: "warn", reason: words }) }] },
  },
);

/** The decisions of the parent and of the external caller, each once. */
const expected = [
  "approval approved",
  "approval requested",
  "cancel cancelled",
  "cancel cancelled",
  "guardrail warn",
  "permission allow-all",
  "permission allowed",
  "permission allowed",
  "permission denied",
  "reconcile settled",
  "retention erased",
  "spawn admitted",
  "spawn denied",
  "spend denied",
  "spend settled",
  "spend topped-up",
];

function decisions(links: readonly AuditEntry[]): readonly string[] {
  return links.map(({ kind, data }) => {
    const { decision = null } = isJsonObject(data) ? data : {};
    return `${kind} ${typeof decision === "string" ? decision : "?"}`;
  });
}

/** Drives the parent from outside until its content is erased. */
async function driveUntilErased(runtime: Runtime): Promise<void> {
  const run = await runtime.start(lead, words, {
    tenant,
    spawn: { maxAgents: 2 },
    retention: "run",
    permissions: [{ verdict: "deny", tool: "shred" }],
  });
  const { approvalId } = await waitForEvent(run, "approval.requested");
  await run.approve(approvalId, { by: "ada" });
  const { attempt } = await waitForEvent(run, "budget.settled");
  await waitForEvent(run, "budget.denied");
  assert.ok(attempt);
  await run.topUp({ maxTokens: 7 });
  await run.cancel(words);
  await eventually("its words are gone", async () => (await run.result()).erased === true);
  // Bills come late.
  assert.equal(await run.reconcile(attempt, { input: 10, output: 5 }), true);
}

async function checkAudit(runtime: Runtime): Promise<void> {
  const read = (): Promise<readonly AuditEntry[]> => runtime.audit.read({ tenant });
  for (const last of ["retention erased", "reconcile settled"])
    await eventually(`the audit has ${last}`, async () => decisions(await read()).includes(last));
  const links = await read();
  assert.deepEqual(decisions(links).toSorted(), expected);
  assert.equal(new Set(links.map(({ source }) => source)).size, links.length);
  assert.ok(!JSON.stringify(links).includes(words));
  const reconciled = links.find(({ kind }) => kind === "reconcile")?.data;
  assert.ok(isJsonObject(reconciled));
  assert.deepEqual([reconciled["costMicros"], reconciled["agent"]], [15, "lead"]);
  const head = await runtime.audit.head({ tenant });
  assert.deepEqual(await runtime.audit.verify({ tenant, head }), { ok: true, length: links.length, head });
  assert.deepEqual(await runtime.audit.verify(), { ok: true, length: 0, head: null });
}

/** A store that fails now and then, before it has written or after: seldom enough for four writes in a row. */
function failOccasionally(store: Store): Store {
  let calls = 0;
  const hurt = async (write: () => Promise<void>): Promise<void> => {
    const call = calls++;
    if (call % 9 === 0) throw new Error("the database is away");
    await write();
    if (call % 9 === 4) throw new Error("the connection was lost");
  };
  const { audit, events } = store;
  return {
    ...store,
    audit: {
      append: (...given) => hurt(() => audit.append(...given)),
      findRecorded: (...given) => audit.findRecorded(...given),
      read: (...given) => audit.read(...given),
      list: (...given) => audit.list(...given),
      head: (...given) => audit.head(...given),
      check: (...given) => audit.check(...given),
      keepCheck: (...given) => audit.keepCheck(...given),
    },
    events: {
      append: (...given) => hurt(() => events.append(...given)),
      rewrite: (...given) => hurt(() => events.rewrite(...given)),
      read: (...given) => events.read(...given),
      waitForEvents: (...given) => events.waitForEvents(...given),
      changes: (...given) => events.changes(...given),
    },
  };
}

const settings = { eraseAfterS: 2, approver: "human" } as const;

/** Section 9.3: who decided what. */
export const auditCases: readonly EngineCase[] = [
  {
    name: "9.3 every decision about a tree is in its tenant's audit once, in one chain and without content",
    run: (harness) =>
      onRuntime(harness, { agents: [lead, writer], store: memoryStore(), ...settings }, async (runtime) => {
        await driveUntilErased(runtime);
        await checkAudit(runtime);
      }),
  },
  {
    name: "9.3 every decision is in the audit once, even if the store fails before or after a write",
    run: (harness) =>
      onRuntime(
        harness,
        { agents: [lead, writer], store: failOccasionally(memoryStore()), ...settings },
        async (runtime) => {
          await driveUntilErased(runtime);
          await checkAudit(runtime);
        },
      ),
  },
  {
    name: "9.3 concurrent trees of one tenant write one audit chain",
    run: (harness) =>
      onRuntime(harness, { agents: [waiter], store: memoryStore() }, async (runtime) => {
        const runs = await Promise.all(
          Array.from({ length: 8 }, () => runtime.start(waiter, "go", { tenant })),
        );
        await Promise.all(runs.map((run) => run.cancel("enough")));
        await eventually("8 cancels are in the audit", async () => {
          const head = await runtime.audit.head({ tenant });
          return head?.index === 7;
        });
        const verdict = await runtime.audit.verify({ tenant });
        assert.deepEqual([verdict.ok, verdict.ok && verdict.length], [true, 8]);
        const sources = (await runtime.audit.read({ tenant })).map(({ source }) => source.split("/")[0]);
        assert.deepEqual(new Set(sources), new Set(runs.map(({ treeId }) => treeId)));
      }),
  },
];
