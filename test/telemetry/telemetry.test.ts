import { TraceIdRatioBasedSampler, ParentBasedSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { agent, AgentId, tool, type Agent, type NumberedEvent, ModelError } from "reeve";
import { eraseEvent } from "#kernel";
import { DerivedIds, Telemetry } from "reeve/telemetry";
import { call, fail, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { outline, recorder } from "./recorder.ts";

const price = { input: 1_000_000, output: 2_000_000 };
const busy = new ModelError({ kind: "rate-limit", message: "the secret prompt", unbilled: true });

/** A tree with most features: a tool, a child, a denial, a retry, an error. */
async function history(start: { readonly traceparent?: string } = {}): Promise<{
  readonly events: readonly NumberedEvent[];
  readonly given: readonly string[];
}> {
  const given: string[] = [];
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({ at: z.string() }),
    risk: "safe",
    execute: async ({ at }, { traceparent }) => {
      given.push(traceparent);
      return `${at} is there`;
    },
  });
  const wipe = tool({
    name: "wipe",
    description: "Wipes",
    input: z.object({}),
    risk: "high",
    execute: async () => "wiped",
  });
  const researcher = agent({
    name: "researcher",
    model: scriptedModel([fail(busy), say("dug")], { price }),
    retry: { baseMs: 1 },
  });
  const model = scriptedModel(
    [
      call("look", { at: "the private garden" }, ["wipe", {}]),
      call("ask_researcher", { task: "a" }),
      say("done"),
    ],
    { price },
  );
  const lead = agent({ name: "lead", model, tools: [look, wipe], team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  const run = await t.start(lead, "go", { id: "tree", ...start });
  expect(await run.result()).toMatchObject({ status: "completed" });
  return { events: await t.events(run), given };
}

test("a tree is a trace: workflow, agents, cycles, and their model calls, tools and spawns", async () => {
  const { events } = await history();
  const { telemetry, spans } = recorder();
  for (const event of events) telemetry.take(event);
  expect(outline(await spans())).toEqual([
    [
      "invoke_workflow lead",
      [
        [
          "invoke_agent lead",
          [
            ["cycle", ["chat scripted", "execute_tool ask_researcher", "spawn researcher"]],
            ["cycle", ["chat scripted", "execute_tool look"]],
            ["cycle", ["chat scripted"]],
            ["invoke_agent researcher", [["cycle", ["chat scripted"]]]],
          ],
        ],
      ],
    ],
  ]);
});

test("spans carry the names of the conventions, tokens and cost", async () => {
  const { events } = await history();
  const { telemetry, spans } = recorder({ providerOf: () => "openai" });
  for (const event of events) telemetry.take(event);
  const all = await spans();
  expect(all.find(({ name }) => name === "chat scripted")?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "scripted",
    "gen_ai.provider.name": "openai",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
    "reeve.cost_usd": 0.00002,
    "reeve.attempts": 1,
  });
  expect(all.find(({ name }) => name === "execute_tool look")?.attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "look",
    "gen_ai.tool.call.id": "call-1",
  });
  expect(all.at(-1)).toMatchObject({
    name: "invoke_workflow lead",
    attributes: {
      "gen_ai.workflow.name": "lead",
      "reeve.tree.id": "tree",
      "reeve.status": "completed",
      "gen_ai.usage.input_tokens": 40,
    },
  });
});

test("trees that are stored in reduced form are counted", async () => {
  const { telemetry, count } = recorder();
  telemetry.takeReduced();
  telemetry.takeReduced();
  expect(await count("reeve.store.reduced", "none")).toEqual({ undefined: 2 });
});

test("a retried call is one span with its number of attempts", async () => {
  const { events } = await history();
  const { telemetry, spans } = recorder();
  for (const event of events) telemetry.take(event);
  const retried = (await spans()).filter(({ attributes }) => attributes["reeve.attempts"] === 2);
  expect(retried).toMatchObject([{ name: "chat scripted", events: ["attempt", "retry"] }]);
  expect(retried[0]?.attributes).not.toHaveProperty("error.type");
});

test("a call without a reported outcome ends with its cycle, in doubt", async () => {
  const { events } = await history();
  const { telemetry, spans } = recorder();
  for (const event of events) if (event.type !== "model.end") telemetry.take(event);
  const chats = (await spans()).filter(({ name }) => name === "chat scripted");
  expect(chats.map(({ attributes }) => attributes["error.type"])).toEqual(Array(4).fill("unknown"));
  expect(chats.every(({ attributes }) => attributes["reeve.in_doubt"] === true)).toBe(true);
});

test("two readers, and a reader that starts again, export the same spans once", async () => {
  const { events } = await history();
  const [one, two] = [recorder(), recorder()];
  for (const event of events) one.telemetry.take(event);
  for (const event of [...events, ...events]) two.telemetry.take(event);
  await two.telemetry.follow(yieldEvents(events));
  expect(await two.spans()).toEqual(await one.spans());
  expect(new Set((await one.spans()).map(({ id }) => id)).size).toBe((await one.spans()).length);
  expect(await two.count("reeve.runs", "reeve.status")).toEqual({ completed: 2 });
});

test("trees of the same name and different tenants are different traces", async () => {
  const worker: Agent = { id: AgentId.of("worker"), run: async () => "done" };
  await using t = testRuntime({ agents: [worker] });
  const { telemetry, spans } = recorder();
  for (const tenant of ["a", "b"]) {
    const run = await t.start(worker, "go", { id: "same", tenant });
    await telemetry.follow(run.events(), { tenant });
  }
  expect((await spans()).length).toBe(4);
  expect(new Set((await spans()).map(({ trace }) => trace)).size).toBe(2);
});

test("spans contain no content, and an erased tree gives the same spans", async () => {
  const { events } = await history();
  const [before, after] = [recorder(), recorder()];
  for (const event of events) before.telemetry.take(event);
  for (const event of events) after.telemetry.take(eraseEvent(event));
  expect(await after.spans()).toEqual(await before.spans());
  expect(JSON.stringify(await before.spans())).not.toMatch(/secret|private/);
});

test("spans have content if it is enabled", async () => {
  const worker = agent({ name: "worker", model: scriptedModel([fail(busy)]), retry: { maxRetries: 0 } });
  await using t = testRuntime({ agents: [worker] });
  const events = await t.events(await t.start(worker, "go"));
  for (const options of [{}, { captureContent: true }]) {
    const { telemetry, statuses } = recorder(options);
    for (const event of events) telemetry.take(event);
    expect((await statuses()).includes("the secret prompt")).toBe("captureContent" in options);
  }
});

test("a tool receives its own span, and a tree is a child of its caller's span", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const { events, given } = await history({ traceparent });
  const { telemetry, spans } = recorder();
  for (const event of events) telemetry.take(event);
  const all = await spans();
  const look = all.find(({ name }) => name === "execute_tool look");
  expect(given).toEqual([`00-0af7651916cd43dd8448eb211c80319c-${look?.id}-01`]);
  expect(all.at(-1)).toMatchObject({ parent: "b7ad6b7169203331" });
  expect(new Set(all.map(({ trace }) => trace))).toEqual(new Set(["0af7651916cd43dd8448eb211c80319c"]));
});

test("an invalid traceparent is ignored", async () => {
  const { events } = await history({
    traceparent: "00-00000000000000000000000000000000-b7ad6b7169203331-01",
  });
  const { telemetry, spans } = recorder();
  for (const event of events) telemetry.take(event);
  expect((await spans()).at(-1)).toMatchObject({ parent: undefined });
});

test("a trace is sampled as a whole", async () => {
  const { events } = await history();
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0) });
  const none = recorder({ sampler });
  for (const event of events) none.telemetry.take(event);
  expect(await none.spans()).toEqual([]);
  const unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  const asked = recorder({ sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(1) }) });
  for (const event of (await history({ traceparent: unsampled })).events) asked.telemetry.take(event);
  expect(await asked.spans()).toEqual([]);
});

test("figures count runs, tokens, money, denials and retries", async () => {
  const { events } = await history();
  const { telemetry, count } = recorder();
  for (const event of events) telemetry.take(event);
  expect(await count("reeve.runs", "gen_ai.agent.name")).toEqual({ lead: 1, researcher: 1 });
  expect(await count("gen_ai.client.operation.duration", "error.type")).toEqual({ undefined: 4, model: 1 });
  expect(await count("gen_ai.client.token.usage", "gen_ai.token.type")).toEqual({ input: 4, output: 4 });
  expect(await count("gen_ai.execute_tool.duration", "gen_ai.tool.name")).toEqual({
    look: 1,
    ask_researcher: 1,
  });
  expect(await count("reeve.denials", "reeve.by")).toEqual({ permission: 1 });
  expect(await count("reeve.retries", "gen_ai.agent.name")).toEqual({ researcher: 1 });
  const cost = await count("reeve.cost", "gen_ai.agent.name");
  expect(cost["lead"]).toBeCloseTo(0.00006, 9);
});

test("a tracer without the derived ids is refused", async () => {
  const { events } = await history();
  const telemetry = new Telemetry({
    tracer: new TracerProvider().getTracer("reeve"),
    ids: new DerivedIds(),
  });
  expect(() => events.forEach((event) => telemetry.take(event))).toThrow(/idGenerator/);
});

async function* yieldEvents(events: readonly NumberedEvent[]): AsyncGenerator<NumberedEvent> {
  yield* events;
}
