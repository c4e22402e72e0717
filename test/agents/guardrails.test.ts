import { agent, contentFilter, Json, tool, type Guardrail, type RunResult } from "reeve";
import { type GuardrailDecision } from "#kernel";
import { call, manualClock, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "./events-of.ts";

const stop = (kind: "warn" | "block" | "halt", reason = "no"): GuardrailDecision => ({ kind, reason });
const fail = (): never => {
  throw new Error("broken");
};

interface Desk {
  readonly result: RunResult;
  readonly model: ScriptedModel;
  readonly done: string[];
  readonly trips: readonly (readonly [string, string, string])[];
  /** Events about tools. */
  readonly tools: readonly string[];
  /** The result of the call as the model sees it. */
  readonly shown: string;
}

/** An agent that makes one call of each kind of tool, then answers; each execution is replayed after every operation. */
async function desk(
  guardrails: readonly Guardrail[],
  {
    risk = "safe",
    uses = "effect",
    atRuntime = false,
  }: { risk?: "safe" | "high"; uses?: "effect" | "run"; atRuntime?: boolean } = {},
): Promise<Desk> {
  const done: string[] = [];
  const base = { description: "x", risk, input: z.object({ n: z.number() }) } as const;
  const effect = tool({
    ...base,
    name: "effect",
    execute: async ({ n }) => `made ${done.push("effect") + n}`,
  });
  const run = tool({
    ...base,
    name: "run",
    run: async (ctx, { n }) => `made ${n + (await ctx.step("x", () => done.push("run")))}`,
  });
  const model = scriptedModel([call(uses, { n: 1 }), say("the answer")]);
  const given = { model, tools: [effect, run], permissions: "allow-all" } as const;
  const writer = agent({ name: "writer", ...given, ...(atRuntime ? {} : { guardrails }) });
  await using t = testRuntime({ agents: [writer], ...(atRuntime && { guardrails }) });
  const handle = await t.start(writer, "go");
  const result = await handle.result();
  const events = await t.events(handle);
  const tools = events.map(({ type }) => type).filter((type) => type.startsWith("tool."));
  const trips = eventsOf(events, "guardrail.trip").map(
    ({ guardrail, decision, reason }) => [guardrail, decision, reason] as const,
  );
  return {
    result,
    model,
    done,
    trips,
    tools,
    shown: JSON.stringify(model.requests[1]?.messages.at(-1) ?? null),
  };
}

const kindsOfTool = ["effect", "run"] as const;

test.each(kindsOfTool)("7.7 beforeCall of a tool of kind %s can warn, block and halt", async (uses) => {
  const warned = await desk([{ name: "w", beforeCall: () => stop("warn", "careful") }], { uses });
  expect([warned.done, warned.result.output]).toEqual([[uses], "the answer"]);
  expect(warned.shown).toMatch(/made 2.*Note: careful\./);
  const blocked = await desk([{ name: "b", beforeCall: () => stop("block") }], { uses });
  expect([blocked.done, blocked.result.output]).toEqual([[], "the answer"]);
  expect(blocked.shown).toContain("not called: no");
  expect(blocked.shown).toContain('"isError":true');
  const halted = await desk([{ name: "h", beforeCall: () => stop("halt") }], { uses });
  expect(halted.result).toMatchObject({
    status: "failed",
    stopReason: "guardrail",
    error: { code: "guardrail", guardrail: "h", reason: "no" },
  });
  expect([halted.done, halted.model.requests.length, halted.trips]).toEqual([[], 1, [["h", "halt", "no"]]]);
});

test.each(kindsOfTool)(
  "7.7 afterCall of a tool of kind %s can warn, change, block and halt",
  async (uses) => {
    const warned = await desk([{ name: "w", afterCall: () => stop("warn", "odd") }], { uses });
    expect(warned.shown).toMatch(/made 2.*Note: odd\./);
    const changed = await desk(
      [
        { name: "c", afterCall: () => ({ kind: "allow", content: [{ type: "text", text: "less" }] }) },
        {
          name: "sees",
          afterCall: ({ result }) => stop("warn", JSON.stringify(result.content).slice(0, 40)),
        },
      ],
      { uses },
    );
    expect(changed.shown).toContain("less");
    expect(changed.trips[0]?.[2]).toContain("less");
    const blocked = await desk([{ name: "b", afterCall: () => stop("block") }], { uses });
    expect([blocked.done, blocked.shown.includes("made"), blocked.shown.includes("withheld: no")]).toEqual([
      [uses],
      false,
      true,
    ]);
    const halted = await desk([{ name: "h", afterCall: () => stop("halt") }], { uses });
    expect(halted.tools).toEqual(["tool.start", "tool.end"]);
    expect([halted.done, halted.result.stopReason, halted.model.requests.length]).toEqual([
      [uses],
      "guardrail",
      1,
    ]);
  },
);

const guardrailOf = (kind: "warn" | "block" | "halt"): Guardrail => ({
  name: kind,
  beforeCall: () => stop(kind),
});

test("7.7 the strictest decision wins in any order, and all decisions are in the stream", async () => {
  const { result, trips } = await desk([guardrailOf("warn"), guardrailOf("halt"), guardrailOf("block")]);
  expect(result.stopReason).toBe("guardrail");
  expect(trips.map(([name]) => name)).toEqual(["warn", "halt"]);
  const blocked = await desk([
    guardrailOf("block"),
    guardrailOf("warn"),
    { name: "a", beforeCall: () => ({ kind: "allow" }) },
  ]);
  expect(blocked.shown).toContain("not called");
  expect(blocked.trips.map(([name]) => name)).toEqual(["block", "warn"]);
});

test("7.7 guardrails of the runtime hold for every agent", async () => {
  const { shown } = await desk([{ name: "b", beforeCall: () => stop("block") }], { atRuntime: true });
  expect(shown).toContain("not called: no");
});

test.each([
  ["throws", fail],
  ["says nothing clear", () => Json.as<GuardrailDecision>({ kind: "maybe" })],
  ["rejects", async () => fail()],
])(
  "7.7 a guardrail that %s blocks above safe and on output; on a safe tool it is recorded",
  async (_, broken) => {
    for (const uses of kindsOfTool) {
      const safe = await desk([{ name: "x", beforeCall: broken, afterCall: broken }], { uses });
      expect([safe.done, safe.result.output]).toEqual([[uses], "the answer"]);
      expect(safe.trips.map(([name, decision]) => [name, decision])).toEqual([
        ["x", "allow"],
        ["x", "allow"],
      ]);
      const before = await desk([{ name: "x", beforeCall: broken }], { uses, risk: "high" });
      expect([before.done, before.shown.includes("not called: guardrail x failed")]).toEqual([[], true]);
      const after = await desk([{ name: "x", afterCall: broken }], { uses, risk: "high" });
      expect([after.done, after.shown.includes("withheld: guardrail x failed")]).toEqual([[uses], true]);
    }
    const output = await desk([{ name: "x", onOutput: broken }]);
    expect([output.result.status, output.result.stopReason, output.result.output]).toEqual([
      "failed",
      "guardrail",
      null,
    ]);
  },
);

test("7.7 a guardrail without a decision in time fails", async () => {
  const clock = manualClock();
  const never = new Promise<GuardrailDecision>(() => {});
  let asked = 0;
  const slow: Guardrail = { name: "slow", timeoutS: 5, beforeCall: () => (asked++, never) };
  const mail = tool({
    name: "mail",
    description: "x",
    risk: "high",
    input: z.object({}),
    execute: async () => "sent",
  });
  const model = scriptedModel([call("mail", {}), say("done")]);
  const writer = agent({
    name: "writer",
    model,
    tools: [mail],
    permissions: "allow-all",
    guardrails: [slow],
  });
  await using t = testRuntime({ agents: [writer], clock, replay: false });
  const run = await t.start(writer, "go");
  await expect.poll(() => asked).toBe(1);
  await clock.advance(5_001);
  expect((await run.result()).output).toBe("done");
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain(
    "not called: guardrail slow failed: it returned no decision within 5 s",
  );
});

test("7.7 each check runs once and never on replay, and notes last for one turn", async () => {
  const looks: string[] = [];
  const counting: Guardrail = {
    name: "counting",
    onTurnStart: (_, { notes }) => (looks.push(`turn ${notes.length}`), { kind: "allow", note: "t" }),
    onInput: ({ text }, { notes }) => (looks.push(`${text} ${notes.length}`), { kind: "allow", note: "i" }),
    beforeCall: (_, { notes }) => (looks.push(`before ${notes.length}`), { kind: "allow", note: "b" }),
    afterCall: (_, { notes }) => (looks.push(`after ${notes.length}`), { kind: "allow", note: "a" }),
    onOutput: (_, { notes }) => (looks.push(`output ${notes.length}`), { kind: "allow" }),
  };
  const look = tool({
    name: "look",
    description: "x",
    risk: "safe",
    input: z.object({}),
    execute: async () => "x",
  });
  const script = [call("look", {}), call("look", {}, ["look", {}]), say("done"), say("again")] as const;
  const writer = agent({
    name: "writer",
    model: scriptedModel(script),
    tools: [look],
    guardrails: [counting],
    continueAfter: 3,
  });
  await using t = testRuntime({ agents: [writer] });
  const run = await t.start(writer, "go");
  await run.send("more");
  await run.result();
  expect(looks.slice(0, 4)).toEqual(["turn 0", "go 1", "before 2", "after 3"]);
  // Concurrent calls see each other's notes.
  expect(looks.slice(4, 8).toSorted()).toEqual(["after 6", "after 7", "before 4", "before 5"]);
  expect(looks.slice(8)).toEqual(["output 8", "turn 0", "more 1", "output 2"]);
});

test("7.7 blocked input, steering included, reaches no model, and a warning is added to the prompt", async () => {
  const filter = contentFilter({ patterns: ["secret"], on: ["input"] });
  const model = scriptedModel([say("hi")]);
  const writer = agent({ name: "writer", model, guardrails: [filter] });
  const nice = agent({
    name: "nice",
    model,
    guardrails: [{ name: "w", onInput: () => stop("warn", "be kind") }],
  });
  await using t = testRuntime({ agents: [writer, nice] });
  expect(await t.run(writer, "tell the SECRET")).toMatchObject({
    status: "failed",
    stopReason: "guardrail",
    error: { code: "guardrail", message: "input: it matches /secret/iu" },
  });
  expect(model.requests).toEqual([]);
  await t.run(nice, "hello");
  expect(JSON.stringify(model.requests[0]?.messages)).toContain("hello\\n\\nNote: be kind.");
});

test("7.7 after blocked output the model answers again, and the validated value is also checked", async () => {
  const schema = z.object({ word: z.string() });
  const model = scriptedModel([
    say('{"word":"mud"}'),
    say('{"wrong":"mud"}'),
    say('{"word":"mud"}'),
    say('{"word":"clay"}'),
  ]);
  const writer = agent({
    name: "writer",
    model,
    output: schema,
    guardrails: [contentFilter({ patterns: ["mud"], on: ["output"] })],
  });
  const muddy = agent({
    name: "muddy",
    model: scriptedModel([say("mud")]),
    guardrails: [contentFilter({ patterns: ["mud"], on: ["output"] })],
  });
  await using t = testRuntime({ agents: [writer, muddy] });
  expect(await t.run(writer, "go")).toMatchObject({ status: "completed", output: { word: "clay" } });
  expect(model.requests.length).toBe(4);
  expect(await t.run(muddy, "go")).toMatchObject({ status: "failed", stopReason: "guardrail", output: null });
});

test("7.7 an answer from the landing slice is also checked", async () => {
  const price = { input: 1_000_000, output: 1_000_000 };
  const look = tool({
    name: "look",
    description: "x",
    risk: "safe",
    input: z.object({}),
    execute: async () => "x",
  });
  const model = scriptedModel([call("look", {}), say("mud")], { price, maxOutputTokens: 100 });
  const filter = contentFilter({ patterns: ["mud"], on: ["output"] });
  const writer = agent({
    name: "writer",
    model,
    tools: [look],
    guardrails: [filter],
    budget: { maxTurns: 2 },
  });
  await using t = testRuntime({ agents: [writer] });
  expect(await t.run(writer, "go")).toMatchObject({
    status: "failed",
    stopReason: "guardrail",
    output: null,
  });
});
