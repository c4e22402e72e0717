import assert from "node:assert/strict";
import { agent } from "#agents";
import {
  BudgetExhaustedError,
  Json,
  type Agent,
  type ContentBlock,
  type CallDenialReason,
  type EventType,
  type LimitMet,
  type NumberedEvent,
  type RunId,
  type RunResult,
} from "#kernel";
import type { RunHandle, Runtime, StartOptions } from "#runtime";
import { manualModel } from "../manual-model.ts";
import { call, say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only, reaches, waitForEvent } from "./history.ts";
import { inSpawnHarness } from "./spawn-harness.ts";
import { ask, greedyModel, prompt, spender, tokenPrice } from "./spender.ts";

/** A refusal, as result and event must report it. */
type Refusal = LimitMet & { readonly reason: CallDenialReason };

const fields = ["reason", "dimension", "account", "owner", "limit", "used", "reserved", "inDoubt"] as const;

const refusalOf = (teller: object | undefined): Record<string, unknown> => {
  const values: Record<string, unknown> = { ...teller };
  return Object.fromEntries(fields.map((field) => [field, values[field]]));
};

/** Asserts that the run's error and the event report the same refused call. */
function assertRefused(
  { error, runId }: RunResult,
  events: readonly NumberedEvent[],
  expected: Refusal,
): void {
  assert.deepEqual(refusalOf(error), { ...expected });
  const denied = only(events, "budget.denied").filter((event) => event.runId === runId);
  assert.deepEqual(denied.map(refusalOf), [{ ...expected }]);
}

/** Starts an agent whose root must be refused a call. */
async function rootRefused(
  runtime: Runtime,
  started: Agent,
  options: StartOptions,
  expected: Omit<Refusal, "owner">,
): Promise<void> {
  const run = await runtime.start(started, "go", options);
  const owner = expected.account === "run" ? run.runId : null;
  assertRefused(await run.result(), await historyOf(run), { ...expected, owner });
}

const exhausted = { reason: "exhausted", dimension: "tokens", reserved: 0, inDoubt: 0 } as const;

/** A part of a prompt without a known token count. */
const film: ContentBlock = { type: "file", mediaType: "video/x-unknown", source: { base64: "AAAA" } };

const freshTenant = (): string => `tenant-${crypto.randomUUID()}`;

const reasonOf = (error: unknown): string =>
  error instanceof BudgetExhaustedError ? String(error.reason) : "another error";

/** Events that start something. */
const beginnings: ReadonlySet<EventType> = new Set([
  "model.start",
  "tool.start",
  "spawn.admitted",
  "run.start",
]);

/** Returns the start events after the settlement of the call with this reported usage. */
function startsAfterSettlement(events: readonly NumberedEvent[], tokens: number): readonly EventType[] {
  const settled = only(events, "budget.settled").find((event) => event.tokens === tokens);
  assert.ok(settled, `no call came to ${tokens} tokens`);
  return events.filter(({ seq, type }) => seq > settled.seq && beginnings.has(type)).map(({ type }) => type);
}

/** Sections 3.7 and 3.8: every refusal states its reason. */
export const refusalCases: readonly EngineCase[] = [
  {
    name: "3.8 a refusal names the account that is exhausted: the run's, the tree's, that of a run above",
    async run(harness) {
      const model = greedyModel();
      const calls = [ask(100), ask(100)];
      const own = spender(model, calls, { name: "own", budget: { maxTokens: 150 } });
      const plain = spender(model, calls, { name: "plain" });
      const parent = agentOf("parent", async (ctx) => (await ctx.join(await ctx.spawn(plain, "go"))).runId, {
        budget: { maxTokens: 150 },
      });
      await onRuntime(harness, { agents: [own, plain, parent] }, async (runtime) => {
        const met = { ...exhausted, limit: 150, used: 100 };
        await rootRefused(runtime, own, {}, { ...met, account: "run" });
        await rootRefused(runtime, plain, { budget: { maxTokens: 150 } }, { ...met, account: "tree" });
        const root = await runtime.start(parent, "go");
        const child = runtime.run(Json.as<RunId>((await root.result()).output));
        const expected = { ...met, account: "subtree", owner: root.runId } as const;
        assertRefused(await child.result(), await historyOf(root), expected);
      });
    },
  },
  {
    name: "3.8 a refusal lists the amount in doubt separately, and why a call could not be counted",
    async run(harness) {
      const doubtful = spender(greedyModel({ reports: () => null }), [ask(100), ask(100)], {
        name: "doubtful",
      });
      const unpriced = spender(greedyModel({ id: "unpriced" }), [ask(100)], { name: "unpriced" });
      const unbounded = agentOf(
        "unbounded",
        async (ctx) => void (await ctx.llm([{ role: "user", content: [film] }], { maxOutputTokens: 5 })),
        { model: greedyModel({ price: tokenPrice }) },
      );
      await onRuntime(harness, { agents: [doubtful, unpriced, unbounded] }, async (runtime) => {
        const tree = { ...exhausted, account: "tree" } as const;
        const tokens = { budget: { maxTokens: 150 } };
        const dollar = { budget: { maxCostUsd: 1 } };
        const cost = { ...tree, dimension: "cost", limit: 1_000_000, used: 0 } as const;
        await rootRefused(runtime, doubtful, tokens, { ...tree, limit: 150, used: 100, inDoubt: 100 });
        await rootRefused(runtime, unpriced, dollar, { ...cost, reason: "unpriced" });
        await rootRefused(runtime, unbounded, dollar, { ...cost, reason: "unbounded" });
      });
    },
  },
  {
    name: "3.8 a refusal by the budget of a tenant or of a user names that budget",
    async run(harness) {
      const one = spender(greedyModel(), [ask(100)]);
      await onRuntime(harness, { agents: [one] }, async (runtime) => {
        const tenant = freshTenant();
        await runtime.tenants.setBudget({ tenant }, { maxTokens: 350, per: "ever" });
        await runtime.tenants.setBudget({ tenant, user: "ann" }, { maxTokens: 150, per: "day" });
        const start = async (user: string): Promise<RunResult> =>
          (await runtime.start(one, "go", { tenant, user })).result();
        await start("ann");
        const ann = { ...exhausted, account: "user", limit: 150, used: 100 } as const;
        await rootRefused(runtime, one, { tenant, user: "ann" }, ann);
        await start("bob");
        await start("bob");
        const bob = { ...exhausted, account: "tenant", limit: 350, used: 300 } as const;
        await rootRefused(runtime, one, { tenant, user: "bob" }, bob);
      });
    },
  },
  {
    name: "3.8 a call that waited for money held by its tenant's other trees reports that its wait timed out",
    async run(harness) {
      const model = manualModel();
      const one = spender(model, [ask(100)]);
      await onRuntime(harness, { agents: [one] }, async (runtime) => {
        const tenant = freshTenant();
        await runtime.tenants.setBudget({ tenant }, { maxTokens: 150, per: "ever" });
        const holder = await runtime.start(one, "go", { tenant });
        await eventually("the first call is in flight", () => model.calls.length === 1);
        const met = { ...exhausted, account: "tenant", limit: 150, used: 100, reserved: 100 } as const;
        await rootRefused(runtime, one, { tenant }, { ...met, reason: "wait-timed-out" });
        await holder.cancel();
      });
    },
  },
  {
    name: "3.10 a run reports that its deadline passed while a call waited for money",
    async run(harness) {
      await inSpawnHarness(harness, { budget: { maxTokens: 8_000 } }, async (spawner) => {
        await spawner.spawn("a");
        const held = await spawner.call("a");
        // Time for its call to begin to wait, on a slow machine too.
        const late = await spawner.spawn("b", { budget: { deadlineS: 3 } });
        const waiting = await waitForEvent(
          spawner.root,
          "budget.waiting",
          ({ runId }) => runId === late.runId,
        );
        const result = await late.result();
        assert.equal(result.stopReason, "deadline");
        held.answer("A");
        const { dimension, account, owner, limit, used, reserved, inDoubt } = waiting;
        const met = { dimension, account, owner, limit, used, reserved, inDoubt };
        assert.deepEqual([dimension, account, limit, reserved > 4_096], ["tokens", "tree", 8_000, true]);
        assertRefused(result, await spawner.close(), { ...met, reason: "wait-timed-out" });
      });
    },
  },
  {
    name: "3.8 a run that lands also reports the reason",
    async run(harness) {
      const look = effect("look", async () => "nothing new", { idempotent: true });
      const model = scriptedModel([call("look", {}), call("look", {}), say("Nothing new.")]);
      const lander = agent({ name: "lander", model, tools: [look] });
      await onRuntime(harness, { agents: [lander] }, async (runtime) => {
        const run = await runtime.start(lander, "go", { budget: { maxTurns: 3 } });
        const result = await run.result();
        assert.deepEqual([result.status, result.stopReason], ["landed", "budget.turns"]);
        assert.equal(result.output, "Nothing new.");
        const met = { ...exhausted, dimension: "turns", account: "run", owner: run.runId } as const;
        assertRefused(result, await historyOf(run), { ...met, limit: 3, used: 2 });
      });
    },
  },
  {
    name: "3.7 usage that exceeds a limit is booked as reported, and nothing begins after it",
    async run(harness) {
      let acts = 0;
      const act = effect("act", async () => (acts += 1));
      const child = agentOf("child", async () => null);
      const model = greedyModel({ reports: () => ({ input: 5_000, output: 0 }) });
      const over = agentOf(
        "over",
        async (ctx) => {
          await ctx.llm(prompt, ask(100));
          const acted = await ctx.tool("act", {});
          const spawned = await ctx.spawn(child, "go").then(() => "spawned", reasonOf);
          ctx.record("custom", { name: "outcomes", data: [acted.isError, spawned] });
          await ctx.llm(prompt, ask(100, { landing: true }));
        },
        { model, tools: [act] },
      );
      await onRuntime(harness, { agents: [over, child] }, async (runtime) => {
        const run = await runtime.start(over, "go", { budget: { maxTokens: 1_000 } });
        const { status, stopReason, error, usage } = await run.result();
        assert.deepEqual([status, stopReason, usage.input], ["failed", "budget.tokens", 5_000]);
        const met = { ...exhausted, account: "tree", owner: null, limit: 1_000, used: 5_000 } as const;
        assert.deepEqual(refusalOf(error), { ...met, reason: "exceeded" });
        const events = await historyOf(run);
        assert.deepEqual(only(events, "custom")[0]?.data, [true, "exceeded"]);
        assert.deepEqual(startsAfterSettlement(events, 5_000), []);
        assert.deepEqual([acts, model.bill.length], [0, 1]);
        const denied = only(events, "budget.denied").map(({ reason }) => reason);
        assert.deepEqual(new Set(denied), new Set(["exceeded"]));
      });
    },
  },
  {
    name: "3.7 a call that waits is refused when the limit it waits at is exceeded",
    async run(harness) {
      await inSpawnHarness(harness, { budget: { maxTokens: 8_000 } }, async (spawner) => {
        const first = await spawner.spawn("a");
        const held = await spawner.call("a");
        const second = await spawner.spawn("b");
        await waitForEvent(spawner.root, "budget.waiting", ({ runId }) => runId === second.runId);
        await reaches(second, "waiting");
        held.answer("A", { input: 9_000, output: 0 });
        assert.equal((await first.result()).status, "completed");
        const result = await second.result();
        const met = { ...exhausted, account: "tree", owner: null, limit: 8_000, used: 9_000 } as const;
        const events = await spawner.close();
        assertRefused(result, events, { ...met, reason: "exceeded" });
        assert.deepEqual([spawner.wasAsked("b"), startsAfterSettlement(events, 9_000)], [false, []]);
      });
    },
  },
  {
    name: "3.7 an agent over its limit lands with its last text, without another call",
    async run(harness) {
      const answer = call("look", {});
      const content = [{ type: "text" as const, text: "So far: nothing." }, ...answer.message.content];
      const usage = { input: 9_000, output: 50 };
      const model = scriptedModel([{ ...answer, message: { role: "assistant", content }, usage }]);
      const look = effect("look", async () => "nothing new", { idempotent: true });
      const lander = agent({ name: "lander", model, tools: [look], maxOutputTokens: 100 });
      await onRuntime(harness, { agents: [lander] }, async (runtime) => {
        const run = await runtime.start(lander, "go", { budget: { maxTokens: 6_000 } });
        const result = await run.result();
        assert.deepEqual([result.status, result.output], ["landed", "So far: nothing."]);
        const met = { ...exhausted, account: "tree", owner: null, limit: 6_000, used: 9_050 } as const;
        assertRefused(result, await historyOf(run), { ...met, reason: "exceeded" });
        assert.equal(model.requests.length, 1);
      });
    },
  },
  {
    name: "3.7 a run that waits for top-ups continues once one covers the excess",
    async run(harness) {
      let calls = 0;
      const model = greedyModel({ reports: () => ({ input: 0, output: calls++ === 0 ? 5_000 : 10 }) });
      const patient = spender(model, [ask(100), ask(100)]);
      await onRuntime(harness, { agents: [patient] }, async (runtime) => {
        const run: RunHandle = await runtime.start(patient, "go", {
          budget: { maxTokens: 1_000, onLimit: "wait" },
        });
        await waitForEvent(run, "budget.waiting");
        await reaches(run, "waiting");
        await run.topUp({ maxTokens: 5_000 });
        const { status, usage } = await run.result();
        assert.deepEqual([status, usage.output], ["completed", 5_010]);
      });
    },
  },
];
