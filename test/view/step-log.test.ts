import { agent, createRuntime, type NumberedEvent, type RunHandle, tool } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { call, fail, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { billOf, costOf, type StepFigures, StepLog } from "../../src/view/index.ts";

const sendEmail = tool({
  name: "send_email",
  description: "sells",
  input: z.object({ what: z.string() }),
  risk: "high",
  execute: async () => "sent",
});

async function eventsOf(run: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

/** Returns the events of a run that sells something after an approval. */
async function approvedCallEvents(): Promise<readonly NumberedEvent[]> {
  const model = scriptedModel([call("send_email", { what: "a field" }), say("sent it")]);
  const emailWriter = agent({
    name: "writer",
    model,
    tools: [sendEmail],
    guardrails: [{ name: "careful", afterCall: () => ({ kind: "warn", reason: "look twice" }) }],
  });
  await using runtime = createRuntime({ agents: [emailWriter], store: memoryStore(), approver: "human" });
  const run = await runtime.start(emailWriter, "Send", { id: "t", budget: { maxCostUsd: 1 } });
  const pending = async (): Promise<readonly { readonly id: string }[]> =>
    (await runtime.approvals.list({ state: "pending" })).items;
  await expect.poll(async () => (await pending()).length).toBe(1);
  for (const { id } of await pending())
    await runtime.approvals.decide(id, { decision: "approved", by: "dana" });
  await run.result();
  return await eventsOf(run);
}

const logOf = (events: readonly NumberedEvent[]): StepLog => {
  const log = new StepLog();
  for (const event of events) log.apply(event);
  return log;
};

const describeDecisions = ({ decisions }: StepFigures): readonly string[] =>
  decisions.map(({ by, decision, layer }) => `${layer} ${by}: ${decision}`);

test("steps have their cost and their decisions in order, even decisions before their start", async () => {
  const events = await approvedCallEvents();
  const [first, sent, last, ...more] = logOf(events).steps();
  expect(more).toEqual([]);
  expect(first).toMatchObject({ stepId: "t~0:model:1", kind: "model", state: "completed", agent: "writer" });
  expect(sent).toMatchObject({ stepId: "t~0:tool:2", name: "send_email", kind: "tool", state: "completed" });
  expect(first && costOf(first)).toEqual({ settledMicros: 15, reservedMicros: 0 });
  expect(first && describeDecisions(first)).toEqual([
    expect.stringMatching(/^gate budget: reserved \$/),
    "gate budget: settled, $0.000015",
  ]);
  expect(sent && describeDecisions(sent)).toEqual([
    "approval send_email: asked for approval",
    "approval dana: approved",
    "guardrail careful: warn",
  ]);
  expect(last?.attempts).toMatchObject([
    { usage: { input: 10, output: 5 }, settledMicros: 15, isInDoubt: false },
  ]);
});

test("an event that is applied again changes nothing; a step in flight shows its reservation", async () => {
  const events = await approvedCallEvents();
  const log = logOf(events);
  const before = log.steps();
  for (const event of events) log.apply(event);
  expect(log.steps()).toEqual(before);
  const cut = events.findIndex(({ type }) => type === "model.start") + 1;
  const [open] = logOf(events.slice(0, cut)).steps();
  expect(open?.state).toBe("running");
  expect(open && costOf(open).reservedMicros).toBeGreaterThan(0);
});

test("attempts of one call are one step, and its bill has each rate once", async () => {
  const overloaded = fail(new Error("overloaded"));
  const model = scriptedModel([overloaded, say("there", { input: 1_000, output: 10, cachedInput: 900 })]);
  const patient = agent({ name: "patient", model, retry: { maxRetries: 1, baseMs: 1 } });
  await using t = testRuntime({ agents: [patient] });
  const run = await t.runtime.start(patient, "Go", { id: "t" });
  const { status } = await run.result();
  const steps = logOf(await eventsOf(run)).steps();
  expect(steps).toHaveLength(1);
  expect(steps[0]?.attempts.length).toBe(status === "completed" ? 2 : 1);
  const price = { input: 2_000_000, output: 4_000_000, cachedInput: 500_000 };
  const usage = { input: 1_000, output: 10, cachedInput: 900 };
  expect(billOf([usage, usage], price)).toEqual({
    lines: [
      { name: "input", amount: 200, rateMicros: 2_000_000, costMicros: 400 },
      { name: "input, cached", amount: 1_800, rateMicros: 500_000, costMicros: 900 },
      { name: "output", amount: 20, rateMicros: 4_000_000, costMicros: 80 },
    ],
    tokens: 2_020,
    costMicros: 1_380,
  });
});
