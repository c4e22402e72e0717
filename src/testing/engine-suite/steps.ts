import assert from "node:assert/strict";
import {
  ChatMessage,
  encodeError,
  ForeignError,
  MessageId,
  NestedStepError,
  RetryableError,
  Supervision,
  type Inbox,
  type Json,
  type RunContext,
} from "#kernel";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";

/** Section 5: journaled steps. */
export const stepCases: readonly EngineCase[] = [
  {
    name: "5.1 a step's name has 1 to 40 letters, digits, dots, dashes and underscores: others are refused with the fix",
    async run(harness) {
      const names = [
        "pay",
        "a.b-c_9",
        "x".repeat(40),
        "",
        "mail bob@example.com",
        "a:b",
        "x".repeat(41),
        "é",
      ];
      const lead = agentOf("lead", async (ctx) => {
        const said: Json[] = [];
        for (const name of names)
          said.push(await ctx.step(name, () => "done").catch((error: unknown) => String(error)));
        return said;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.ok(Array.isArray(output));
        assert.deepEqual(output.slice(0, 3), ["done", "done", "done"]);
        for (const refusal of output.slice(3))
          assert.match(
            String(refusal),
            /^TypeError: invalid step name ".*": .* put what varies into \{ input \}$/,
          );
      });
    },
  },
  {
    name: "5.2 a temporary failure is retried under one key, and only the final outcome is recorded",
    async run(harness) {
      const keys: string[] = [];
      const lead = agentOf("lead", async (ctx) => {
        const flaky = await ctx.step(
          "flaky",
          ({ idempotencyKey }) => {
            if (keys.push(idempotencyKey) < 3) throw new RetryableError({ message: "not now" });
            return "through";
          },
          { retry: { baseMs: 1 } },
        );
        const other = await ctx.step("other", ({ idempotencyKey }) => idempotencyKey);
        return [flaky, other];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.ok(Array.isArray(output));
        assert.equal(output[0], "through");
        assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
        assert.notEqual(output[1], keys[0]);
      });
    },
  },
  {
    name: "5.2 after its last retry a step fails with the complete last error",
    async run(harness) {
      let tries = 0;
      const lead = agentOf("lead", async (ctx) => {
        const seen: Json[] = [];
        try {
          const fail = (): never => {
            tries += 1;
            throw new RetryableError({ message: `try ${tries}`, retryAfterMs: 3 });
          };
          await ctx.step("flaky", fail, { retry: { maxRetries: 2, baseMs: 1 } });
        } catch (error) {
          if (error instanceof RetryableError) seen.push(error.message, error.retryAfterMs);
        }
        return [...seen, await ctx.step("after", () => "after")];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, ["try 3", 3, "after"]);
      });
      assert.equal(tries, 3);
    },
  },
  {
    name: "5.2 a permanent failure is recorded at once and never tried again",
    async run(harness) {
      let tries = 0;
      const lead = agentOf("lead", async (ctx) => {
        const caught = async (): Promise<string> => {
          try {
            await ctx.step("broken", () => {
              tries += 1;
              throw new RangeError("too far");
            });
            return "went through";
          } catch (error) {
            return error instanceof ForeignError ? `${error.kind}: ${error.message}` : "something else";
          }
        };
        return [await caught(), await ctx.step("after", () => 1)];
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(output, ["RangeError: too far", 1]);
      });
      assert.equal(tries, 1);
    },
  },
  {
    name: "5.1 agent code that awaits something outside ctx fails with the last step's name, and does nothing more",
    async run(harness) {
      const done: string[] = [];
      let foreign = Promise.withResolvers<void>();
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("first", () => void done.push("first"));
        await foreign.promise;
        await ctx.step("second", () => void done.push("second"));
      });
      const lazy = agentOf("lazy", async () => foreign.promise);
      await onRuntime(harness, { agents: [lead, lazy] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        const { status, stopReason, error } = await run.result();
        assert.deepEqual([status, stopReason, error?.code], ["failed", "error", "unjournaled-await"]);
        assert.deepEqual([error?.["run"], error?.["lastStep"]], [run.runId, "first:1"]);
        const idle = await (await runtime.start(lazy, "go")).result();
        assert.deepEqual([idle.error?.code, idle.error?.["lastStep"]], ["unjournaled-await", null]);
        foreign.resolve();
        foreign = Promise.withResolvers();
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(done, ["first"]);
      });
    },
  },
  {
    name: "5.1 inside a step every ctx method throws at once",
    async run(harness) {
      let refusals: readonly string[] = [];
      const lead = agentOf("lead", async (ctx, inbox) => {
        await ctx.step("outer", async () => {
          refusals = await Promise.all(everyMethod(ctx, inbox).map(refusalOf));
        });
        return ctx.step("after", () => "fine");
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.equal(output, "fine");
        assert.deepEqual(
          refusals,
          refusals.map(() => "nested-step in outer:1"),
        );
        assert.equal(refusals.length, 25);
      });
    },
  },
  {
    name: "5.1 a step that uses ctx and does not catch the refusal fails its run, without a restart",
    async run(harness) {
      let executed = 0;
      const lead = agentOf("lead", async (ctx) => {
        await ctx.step("outer", async () => {
          executed += 1;
          await ctx.step("inner", () => "never");
        });
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { status, error } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual([status, error?.code, error?.["step"]], ["failed", "nested-step", "outer:1"]);
      });
      assert.equal(executed, 1);
    },
  },
];

/** Every method of `ctx` and of the inbox. */
function everyMethod(ctx: RunContext, inbox: Inbox): readonly (() => unknown)[] {
  const { runId, agentId } = ctx.supervision;
  const handle = { runId, agentId, firstMessage: null };
  const self = { id: agentId };
  const from = { kind: "outside", name: "x" } as const;
  const question = { id: MessageId.of("q"), from, text: "", askedBy: runId, at: 0 };
  return [
    () => ctx.llm([ChatMessage.user("hello")]),
    () => ctx.tool("none", {}),
    () => ctx.step("inner", () => null),
    () => ctx.spawn(self, "again"),
    () => ctx.spawnChild("again"),
    () => ctx.join(handle),
    () => ctx.ask(self, "again", { timeoutS: 60 }),
    () => ctx.askOrThrow(handle, "again", { timeoutS: 60 }),
    () => ctx.reply(question, "no"),
    () => ctx.send(agentId, "again"),
    () => ctx.emit("here"),
    () => ctx.subscribe(Supervision.progressTopic(ctx.supervision))[Symbol.asyncIterator]().next(),
    () => ctx.record("cycle.start", { step: 1 }),
    () => ctx.sleepUntil(0),
    () => ctx.waitFor("never"),
    () => ctx.now(),
    () => ctx.random(),
    () => ctx.uuid(),
    () => ctx.check(),
    () => ctx.status(runId),
    () => ctx.cancel(handle, "no"),
    () => ctx.continueAs(null),
    () => inbox.next({ waitS: 60 }),
    () => inbox.takeSteering(),
    () => inbox.takeFollowUps(),
  ];
}

async function refusalOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return "went through";
  } catch (error) {
    return error instanceof NestedStepError
      ? `${error.code} in ${error.step}`
      : (encodeError(error).message ?? "");
  }
}
