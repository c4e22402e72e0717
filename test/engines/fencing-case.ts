import { AgentId, AttemptId, ChatMessage, Json, StepId, type Agent, type Engine, type RunId } from "#kernel";
import { Runtime, type RunHandle } from "#runtime";
import { expect } from "vitest";
import { withProtocol } from "../../src/tree/protocol-number.ts";

const asks = [ChatMessage.user("go on")];

/** A run that calls a model, waits for a signal, and calls it again. Each call passes the gate. */
const agentOf = (calls: string[]): Agent => ({
  id: AgentId.of("writer"),
  model: {
    id: "model",
    async generate() {
      calls.push("call");
      return { message: ChatMessage.assistant("ok"), usage: { input: 1, output: 1 }, finishReason: "stop" };
    },
  },
  async run(ctx) {
    for (const signal of ["first", "second", "third"]) {
      await ctx.llm(asks);
      await ctx.waitFor(signal);
    }
    await ctx.llm(asks);
    return "done";
  },
});

/** Asks the gate as an execution of the run that was left behind on another worker. */
async function askAs(
  id: string,
  engine: Engine,
  run: RunId,
  {
    continuation = 0,
    step = StepId.of(run, "tool", 99),
    ask = null,
  }: { readonly continuation?: number; readonly step?: StepId; readonly ask?: Json } = {},
): Promise<unknown> {
  const tree = { type: "tree", key: `-/${run.slice(0, run.indexOf("~"))}` };
  const attempt = AttemptId.of(crypto.randomUUID());
  const call = { step, attempt, rerun: true, previous: [], subject: "send", ask };
  const from = { run, continuation, reports: [], at: Date.now() };
  const begin = { ...call, ...from, epoch: { id, order: null } };
  const { reply } = Json.as<{ reply: { gate: { kind: string; why?: string } } }>(
    await engine.call(tree, "begin", withProtocol(begin)),
  );
  return reply.gate.why ?? reply.gate.kind;
}

const waits = async (run: RunHandle): Promise<void> => {
  while ((await run.status()) !== "waiting") await new Promise((resolve) => setTimeout(resolve, 5));
};

/** Shows that an older execution that arrives late neither fails the run nor continues concurrently. */
export async function showFencing(engine: Engine, serve: (runtime: Runtime) => Promise<void>): Promise<void> {
  const calls: string[] = [];
  const agent = agentOf(calls);
  await using runtime = new Runtime({ agents: [agent], engine, maxRestarts: 0 });
  await serve(runtime);
  const run = await runtime.start(agent, "go");
  await waits(run);
  // Its first call arrives after that of its successor: the tree cannot know.
  expect(await askAs("left-behind", engine, run.runId)).toBe("granted");
  await run.signal("first");
  while (calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await waits(run);
  expect(await askAs("left-behind", engine, run.runId)).toBe("superseded");
  expect(await askAs("of-another-continuation", engine, run.runId, { continuation: 7 })).toBe("superseded");
  await run.signal("second");
  await run.signal("third");
  expect(await run.result()).toMatchObject({ status: "completed", output: "done" });
  expect(calls.length).toBe(4);
}

/**
 * Shows that a lost execution's reservation does not stay. It reserves budget for a call whose result another execution
 * has journaled, with unknown usage. Once the run continues, nothing is reserved for that call, so other calls do not
 * wait for it.
 */
export async function showReservationOfAnotherExecution(
  engine: Engine,
  serve: (runtime: Runtime) => Promise<void>,
): Promise<void> {
  let calls = 0;
  const called = Promise.withResolvers<undefined>();
  const answered = Promise.withResolvers<undefined>();
  const agent: Agent = {
    id: AgentId.of("writer"),
    model: {
      id: "model",
      async generate() {
        calls += 1;
        called.resolve(undefined);
        await answered.promise;
        return { message: ChatMessage.assistant("ok"), usage: null, finishReason: "stop" };
      },
    },
    async run(ctx) {
      await ctx.llm(asks);
      await ctx.waitFor("go on");
      await ctx.llm(asks);
      await ctx.waitFor("end");
      return "done";
    },
  };
  await using runtime = new Runtime({ agents: [agent], engine, maxRestarts: 0 });
  await serve(runtime);
  const run = await runtime.start(agent, "go", { budget: { maxTokens: 10_000 } });
  await called.promise;
  const wish = { model: "model", inputTokens: 10, outputTokens: 10, minOutputTokens: 1, price: null };
  const ask = { ...wish, unpriced: "allow", landing: false };
  const step = StepId.of(run.runId, "model", 1);
  expect(await askAs("left-behind", engine, run.runId, { step, ask })).toBe("granted");
  answered.resolve(undefined);
  await waits(run);
  await run.signal("go on");
  await expect.poll(() => calls).toBe(2);
  await waits(run);
  expect((await run.ledger()).tree.reserved).toEqual({ tokens: 0, costMicros: 0 });
  await run.signal("end");
  expect(await run.result()).toMatchObject({ status: "completed" });
}
