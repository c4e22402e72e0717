import { agent, AgentId, createRuntime, type Agent } from "reeve";
import { type Engine } from "reeve/engine";
import { local } from "reeve/engines/local";
import { scriptedModel, say } from "reeve/testing";
import { expect, test } from "vitest";
import type { ExecutionPrimitives } from "#kernel";

/** An engine that counts the timers of all executions. */
function countingTimers(): { readonly engine: Engine; readonly countTimers: () => number } {
  const engine = local();
  let timers = 0;
  const define: Engine["define"] = (program) =>
    engine.define({
      ...program,
      run: (primitives) => {
        const sleepUntil: ExecutionPrimitives["sleepUntil"] = (at) => {
          timers += 1;
          return primitives.sleepUntil(at);
        };
        return program.run({ ...primitives, sleepUntil });
      },
    });
  return { engine: { ...engine, define }, countTimers: () => timers };
}

test("a journal is full at 50,000 entries of any kind", async () => {
  let made = 0;
  const asker: Agent = {
    id: AgentId.of("asker"),
    run: async (ctx) => {
      for (; made < 60_000; made++) await ctx.status(ctx.supervision.runId);
      return ctx.steps;
    },
  };
  await using runtime = createRuntime({ agents: [asker] });
  const { status, error } = await (await runtime.start(asker, "go")).result();
  expect({ status, error }).toMatchObject({ status: "failed", error: { code: "too-many-steps" } });
  expect(made).toBeLessThanOrEqual(50_000);
});

test("waits that end early leave one timer in total", async () => {
  const reader: Agent = {
    id: AgentId.of("reader"),
    run: async (ctx, inbox) => {
      let read = 0;
      for (let next = await inbox.next({ waitS: 600 }); next; next = await inbox.next({ waitS: 600 })) {
        read += 1;
        await ctx.emit(read);
        if (next.text === "end") return read;
      }
      return read;
    },
  };
  const { engine, countTimers } = countingTimers();
  await using runtime = createRuntime({ agents: [reader], engine });
  const run = await runtime.start(reader, "go");
  for await (const event of run.events()) {
    if (event.type !== "progress.emitted") continue;
    await run.send(Number(event.data) < 30 ? "next" : "end");
  }
  expect(await run.resultNow()).toMatchObject({ output: 31 });
  expect(countTimers()).toBe(1);
});

test("an agent that answers many messages goes on in fresh executions between its turns", async () => {
  const turns = 12;
  const answers = Array.from({ length: turns - 1 }, (_, turn) => say(`answer ${turn + 1}`));
  const model = scriptedModel([say("answer 0"), ...answers]);
  const starts: number[] = [];
  const researcher = agent({ name: "researcher", model, continueAfter: 20 });
  const watched: Agent = {
    ...researcher,
    run: async (ctx, inbox) => {
      starts.push(ctx.journalLength);
      return researcher.run(ctx, inbox);
    },
  };
  const sender: Agent = {
    id: AgentId.of("sender"),
    run: async (ctx) => {
      const handle = await ctx.spawn(watched, "message 0");
      for (let turn = 1; turn < turns; turn++) await ctx.send(handle, `message ${turn}`);
      return (await ctx.join(handle)).output;
    },
  };
  await using runtime = createRuntime({ agents: [sender, watched] });
  const { output } = await (await runtime.start(sender, "go")).result();
  expect(output).toBe(`answer ${turns - 1}`);
  expect(starts.length).toBeGreaterThan(1);
  expect(model.requests.at(-1)?.messages).toHaveLength(2 * turns - 1);
});
