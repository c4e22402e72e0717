import { agent, AgentId, type Agent, type Json, type Model, type RunResult } from "reeve";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

interface Visit {
  readonly at: Date;
  readonly note?: string;
}

const day = z.iso.date().transform((text) => new Date(text));

const review = z.object({ score: z.number(), notes: z.array(z.string()) });
type Review = z.infer<typeof review>;

const judge = (model: Model) => agent({ name: "judge", model, output: review });
const answer = '{"score": 3, "notes": ["short"]}';

test("the output of an agent with a schema has its type, from start to result, without a cast", async () => {
  const reviewer = judge(scriptedModel([say(answer)]));
  await using t = testRuntime({ agents: [reviewer] });
  const run = await t.runtime.start(reviewer, "Review this");
  const result = await run.result();
  expectTypeOf(result).toEqualTypeOf<RunResult<Review>>();
  expectTypeOf(result.output).toEqualTypeOf<Review | null>();
  expect(result.output?.notes.map((note) => note.length)).toEqual([5]);
  expectTypeOf(await run.resultNow()).toEqualTypeOf<RunResult<Review> | null>();
});

test("ask, askOrThrow, spawn and join infer the type of the output", async () => {
  const reviewer = judge(scriptedModel([say(answer)]));
  const lead: Agent<number> = {
    id: AgentId.of("lead"),
    async run(ctx) {
      const outcome = await ctx.ask(reviewer, "one", { timeoutS: 60 });
      if (outcome.kind !== "replied") return -1;
      expectTypeOf(outcome.data).toEqualTypeOf<Review>();
      const { data } = await ctx.askOrThrow(reviewer, "two", { timeoutS: 60 });
      const handle = await ctx.spawn(reviewer, "three");
      const joined = await ctx.join(handle);
      expectTypeOf(joined.output).toEqualTypeOf<Review | null>();
      const asked = await ctx.askOrThrow(await ctx.spawn(reviewer, null), "four", { timeoutS: 60 });
      return outcome.data.score + data.score + (joined.output?.score ?? 0) + asked.data.score;
    },
  };
  await using t = testRuntime({ agents: [lead, reviewer] });
  const { output } = await t.run(lead, "go");
  expectTypeOf(output).toEqualTypeOf<number | null>();
  expect(output).toBe(12);
});

test("an agent without a schema answers with text; the data of a plain reply is its text", async () => {
  const writer = agent({ name: "writer", model: scriptedModel([say("hello")]) });
  const editor: Agent = {
    id: AgentId.of("editor"),
    run: async (ctx, inbox) => {
      for await (const message of inbox) await ctx.reply(message, "noted");
    },
  };
  const lead: Agent = {
    id: AgentId.of("lead"),
    async run(ctx) {
      const { data: text } = await ctx.askOrThrow(writer, "write", { timeoutS: 60 });
      const { data } = await ctx.askOrThrow(editor, "note", { timeoutS: 60 });
      expectTypeOf(text).toEqualTypeOf<string>();
      expectTypeOf(data).toEqualTypeOf<Json>();
      return [text.toUpperCase(), data];
    },
  };
  await using t = testRuntime({ agents: [lead, writer, editor] });
  expectTypeOf((await t.run(writer, "go")).output).toEqualTypeOf<string | null>();
  expect((await t.run(lead, "go")).output).toEqual(["HELLO", "noted"]);
});

test("the type of the output is that of its JSON: dates are strings", async () => {
  const visits: z.ZodType<Visit[], { at: string }[]> = z.array(z.object({ at: day }));
  const model = scriptedModel([say('[{"at": "2026-11-16"}]')]);
  const editor = agent({ name: "editor", model, output: visits });
  await using t = testRuntime({ agents: [editor] });
  const { output } = await t.run(editor, "go");
  expectTypeOf(output).toEqualTypeOf<
    readonly { readonly at: string; readonly note?: string | undefined }[] | null
  >();
  expect(output?.[0]?.at.slice(0, 10)).toBe("2026-11-16");
});

test("an agent made from another keeps the type, and a team tool returns data", async () => {
  const reviewer = judge(scriptedModel([say("unused")]));
  const other = agent({ ...reviewer, model: scriptedModel([say(answer)]) });
  expectTypeOf(other).toExtend<Agent<Review>>();
  const lead = agent({ name: "lead", model: scriptedModel([say("x")]), team: [other] });
  const caller: Agent = {
    id: AgentId.of("caller"),
    tools: lead.tools,
    run: async (ctx) => (await ctx.tool("ask_judge", { task: "go" })).value ?? null,
  };
  const model = scriptedModel([call("ask_judge", { task: "go" }), say("done")]);
  const root = agent({ name: "lead", model, team: [other] });
  await using t = testRuntime({ agents: [caller, other, root] });
  expect((await t.run(caller, "go")).output).toEqual({ score: 3, notes: ["short"] });
  await t.run(root, "go");
  expect(JSON.stringify(model.requests[1]?.messages)).toContain(
    JSON.stringify('{"score":3,"notes":["short"]}'),
  );
});
