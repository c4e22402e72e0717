import assert from "node:assert/strict";
import {
  BudgetExhaustedError,
  ChatMessage,
  IdConflictError,
  RunEndedError,
  ToolRefusedError,
  type Json,
} from "#kernel";
import type { StartOptions } from "#runtime";
import { say, scriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { waitForEvent } from "./history.ts";

const hello = [ChatMessage.user("hello")];

const refuse = (): never => {
  throw new ToolRefusedError({ tool: "saw", reason: "too sharp" });
};

/** Section 5: what replayed code sees. */
export const replayCases: readonly EngineCase[] = [
  {
    name: "5.1 a journal hit executes nothing: model, tool, step and child each run once",
    async run(harness) {
      const model = scriptedModel([say("hi")]);
      const done: string[] = [];
      const tool = effect("note", async (input) => done.push(`tool ${JSON.stringify(input)}`));
      const writer = agentOf("writer", async (ctx) => ctx.step("help", () => done.push("writer")));
      const lead = agentOf(
        "lead",
        async (ctx) => {
          await ctx.llm(hello);
          await ctx.tool("note", "a");
          await ctx.step("step", () => void done.push("step"));
          await ctx.join(await ctx.spawn(writer, "help"));
          await ctx.tool("note", "b");
          return (await ctx.llm(hello)).usage?.input ?? null;
        },
        { model, tools: [tool] },
      );
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const { status, output, usage } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, output], ["completed", 10]);
        assert.deepEqual([usage.input, usage.output], [20, 10]);
      });
      assert.deepEqual(done, ['tool "a"', "step", "writer", 'tool "b"']);
      assert.equal(model.requests.length, 2);
    },
  },
  {
    name: "5.1 time, chance and ids are the same on every replay",
    async run(harness) {
      const seen = new Set<string>();
      const lead = agentOf("lead", async (ctx) => {
        const before = await ctx.now();
        const drawn: Json[] = [before, ctx.random(), ctx.uuid(), ctx.random()];
        await ctx.step("work", () => new Promise<void>((resolve) => setTimeout(resolve, 5)));
        drawn.push(ctx.random(), ctx.uuid(), await ctx.now());
        await ctx.step("more", () => null);
        seen.add(JSON.stringify(drawn));
        return drawn;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const began = Date.now();
        const runs = await Promise.all([runtime.start(lead, "go"), runtime.start(lead, "go")]);
        const [one, two] = await Promise.all(runs.map((run) => run.result()));
        assert.deepEqual(seen, new Set([JSON.stringify(one?.output), JSON.stringify(two?.output)]));
        assert.equal(seen.size, 2, "two runs do not draw the same");
        assert.ok(Array.isArray(one?.output));
        const [before, first, uuid, second, third, , after] = one.output;
        assert.ok(typeof before === "number" && typeof after === "number");
        assert.ok(before >= began && after >= before + 4 && after <= Date.now());
        assert.match(String(uuid), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        assert.equal(new Set([first, second, third]).size, 3);
      });
    },
  },
  {
    name: "5.1 errors from the journal keep their class and fields",
    async run(harness) {
      const model = scriptedModel([say("hi")]);
      const lead = agentOf(
        "lead",
        async (ctx) => {
          const notes: Json[] = [];
          await ctx.llm(hello).catch((error: unknown) => {
            if (error instanceof BudgetExhaustedError) notes.push(error.dimension, error.limit, error.used);
          });
          await ctx.step("refuse", refuse).catch((error: unknown) => {
            if (error instanceof ToolRefusedError) notes.push(error.tool, error.reason);
          });
          await ctx.step("after", () => null);
          return notes;
        },
        { model, budget: { maxTurns: 0 } },
      );
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, ["turns", 0, 0, "saw", "too sharp"]);
      });
      assert.equal(model.requests.length, 0);
    },
  },
  {
    name: "5.5 try, catch and finally of agent code never see a suspension",
    async run(harness) {
      const caught: unknown[] = [];
      const early: string[] = [];
      const done = new Set<string>();
      const writer = agentOf("writer", async (ctx) => ctx.waitFor("finish"));
      const guarded = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
        try {
          const value = await call();
          done.add(name);
          return value;
        } catch (error) {
          caught.push(error);
          throw error;
        } finally {
          if (!done.has(name)) early.push(name);
        }
      };
      const lead = agentOf("lead", async (ctx, inbox) => {
        const handle = await guarded("spawn", () => ctx.spawn(writer, "help"));
        await guarded("step", () => ctx.step("work", () => new Promise<void>((go) => setTimeout(go, 5))));
        await guarded("sleep", async () => ctx.sleepUntil((await ctx.now()) + 20));
        await guarded("wait", () => ctx.waitFor("go"));
        await guarded("boot", () => inbox.next());
        await guarded("inbox", () => inbox.next({ waitS: 60 }));
        return (await guarded("join", () => ctx.join(handle))).output;
      });
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await run.signal("go");
        await run.send("here");
        const { runId } = await waitForEvent(run, "run.start", ({ agent }) => agent === writer.id);
        await runtime.run(runId).signal("finish", "bye");
        const { status, output } = await run.result();
        assert.deepEqual([status, output], ["completed", "bye"]);
      });
      assert.deepEqual([caught, early], [[], []]);
    },
  },
  {
    name: "5.1 a start with a known id is the same tree, even after its end; another input, agent, user or limit is a conflict",
    async run(harness) {
      let executed = 0;
      const lead = agentOf("lead", async (ctx, inbox) => {
        const task = await inbox.next();
        await ctx.step("work", () => void (executed += 1));
        await ctx.waitFor("finish");
        return task?.text ?? null;
      });
      const other = agentOf("other", async () => null);
      await onRuntime(harness, { agents: [lead, other] }, async (runtime) => {
        const id = `order-${crypto.randomUUID()}`;
        const runs = await Promise.all([1, 2, 3].map(() => runtime.start(lead, "go", { id })));
        assert.deepEqual(new Set(runs.map(({ runId }) => runId)).size, 1);
        const conflict = (error: unknown): boolean => error instanceof IdConflictError && error.id === id;
        await assert.rejects(runtime.start(lead, "go elsewhere", { id }), conflict);
        await assert.rejects(runtime.start(other, "go", { id }), conflict);
        await assert.rejects(runtime.start(lead, "go", { id, user: "ada" }), conflict);
        await assert.rejects(runtime.start(lead, "go", { id, budget: { maxTokens: 9 } }), conflict);
        await runs[0]?.signal("finish");
        const results = await Promise.all(runs.map((run) => run.result()));
        for (const { output } of results) assert.equal(output, "go");
        const again = await runtime.start(lead, "go", { id });
        assert.deepEqual(await again.result(), results[0]);
        await assert.rejects(runtime.start(lead, "go elsewhere", { id }), conflict);
        await assert.rejects(again.signal("finish"), RunEndedError);
      });
      assert.equal(executed, 1);
    },
  },
  {
    name: "5.1 a known id with other rules, labels, session, retention, priority or agent version is a conflict",
    async run(harness) {
      const lead = agentOf("lead", async () => "done", { version: "1" });
      const session = crypto.randomUUID();
      const terms: StartOptions = {
        session,
        permissions: [{ tool: "*", verdict: "deny" }],
        labels: { untrusted: true },
        retention: "permanent",
        priority: "high",
      };
      const without = (name: string): StartOptions =>
        Object.fromEntries(Object.entries(terms).filter(([term]) => term !== name));
      const others: readonly StartOptions[] = [
        { ...terms, session: `${session}-2` },
        { ...terms, permissions: [{ tool: "*", verdict: "ask" }] },
        { ...terms, labels: { private: true } },
        { ...terms, retention: "none" },
        { ...terms, priority: "low" },
        ...Object.keys(terms).map(without),
      ];
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const id = `order-${crypto.randomUUID()}`;
        const conflict = (error: unknown): boolean => error instanceof IdConflictError && error.id === id;
        const run = await runtime.start(lead, "go", { ...terms, id });
        for (const other of others)
          await assert.rejects(runtime.start(lead, "go", { ...other, id }), conflict, JSON.stringify(other));
        await assert.rejects(runtime.start({ ...lead, version: "2" }, "go", { ...terms, id }), conflict);
        const again = await runtime.start(lead, "go", { ...terms, id, metadata: { try: 2 } });
        assert.equal(again.runId, run.runId);
        assert.equal((await again.result()).output, "done");
      });
    },
  },
];
