import { createOpenAI } from "@ai-sdk/openai";
import { createRuntime, languageModel, type Json, type Model, type RunHandle, type RunResult } from "reeve";
import { type AttemptId } from "reeve/store";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import {
  answers,
  ProviderMessage,
  fakeProvider,
  say,
  scriptedModel,
  type ProviderScript,
  type FakeProvider,
} from "reeve/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Reply, StrategyCase } from "../../../src/testing/engine-suite/strategy-table.ts";
import { freePort } from "../../free-port.ts";
import { steppedEngine, type Boundary } from "./fixtures/dying-engine.ts";
import { findStrategy, strategyPrice } from "./fixtures/strategies.ts";
import { killWorkers, startWorker } from "./worker-process.ts";
import { sample } from "../../effort.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterEach(killWorkers);

afterAll(() => server[Symbol.asyncDispose]());

const strategyNames = [
  "supervisor",
  "actor-critic",
  "debate",
  "swarm",
  "plan-and-execute",
  "tree of thoughts",
  "flow whose worker is a debate",
];

/** Makes the leader of a strategy, with the models of the caller. */
const makeLead = (strategy: StrategyCase, model: (name: string, reply: Reply) => Model) =>
  strategy.make({ calls: [], failing: null, poor: null, beforeCall: () => undefined, model });

/** Answers each model of a strategy according to its table. */
function scriptOf(strategy: StrategyCase): ProviderScript {
  const replies = new Map<string, Reply>();
  makeLead(strategy, (name, reply) => {
    replies.set(name, reply);
    return scriptedModel([say("unused")]);
  });
  return (request) => {
    const asked = request.messages.findLastIndex(({ role }) => role === "user");
    const last = request.messages[asked];
    const calls = request.messages.slice(asked).filter(({ role }) => role === "assistant").length;
    const reply = replies.get(request.model);
    if (!reply) throw new TypeError(`no model has the name ${request.model}`);
    return answers([reply(last ? ProviderMessage.text(last) : "", calls + 1)])(request);
  };
}

/** Starts a double that bills the same call always with the same tokens. */
const startDouble = (strategy: StrategyCase): Promise<FakeProvider> =>
  fakeProvider({ script: scriptOf(strategy), hiddenTokensPerMessage: 0, toolPromptTokens: 0 });

/** The end of a tree, and the model calls on its ledger. */
interface Outcome {
  readonly result: RunResult;
  /** Agent, tokens and cost of each call that was settled. */
  readonly settled: readonly string[];
  /** The ceilings of calls that were reserved and never settled, in micro-dollars. */
  readonly inDoubt: readonly number[];
}

async function outcomeOf(run: RunHandle): Promise<Outcome> {
  const result = await run.result();
  const settled: string[] = [];
  const open = new Map<AttemptId | null, number>();
  for await (const event of run.events()) {
    if (event.type === "budget.reserved") open.set(event.attempt, event.costMicros);
    if (event.type !== "budget.settled") continue;
    settled.push(`${event.agent} ${event.tokens} ${event.costMicros}`);
    open.delete(event.attempt);
  }
  return { result, settled: settled.toSorted(), inDoubt: [...open.values()] };
}

/** Runs a strategy in this process, without kills. Also returns the number of its steps. */
async function runCalmly(
  strategy: StrategyCase,
  namespace: string,
): Promise<Outcome & { readonly steps: number }> {
  await using double = await startDouble(strategy);
  const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "none" });
  const lead = makeLead(strategy, (name) =>
    languageModel(openai.chat(name), { price: strategyPrice, maxOutputTokens: 200 }),
  );
  const { engine, steps } = steppedEngine(
    restate({ ...server, namespace, log: () => undefined }),
    () => undefined,
  );
  await using runtime = createRuntime({ agents: [lead], engine });
  await runtime.serve({ port: 0, deltas: null });
  const outcome = await outcomeOf(await runtime.start(lead, "Do it."));
  return { ...outcome, steps: steps() };
}

/** Returns the boundaries at which workers die in turn: after the first step, in the middle, and after the last step. */
function killsOf(steps: number): readonly Boundary[] {
  const middle = Math.ceil(steps / 2);
  return [
    { step: 1, when: "after" },
    { step: middle + 1, when: "before" },
    { step: steps - middle, when: "after" },
  ];
}

/** Runs a strategy on workers that are killed in turn. */
async function runKilled(
  strategy: StrategyCase,
  namespace: string,
  { kills, double }: { readonly kills: readonly Boundary[]; readonly double: FakeProvider },
): Promise<Outcome> {
  const { ingress, admin } = server;
  const port = await freePort();
  const serve = (dies: Boundary | null): ReturnType<typeof startWorker> => {
    const given: Json = {
      ingress,
      admin,
      namespace,
      port,
      double: double.baseURL,
      strategy: strategy.name,
      dies: dies && { ...dies },
    };
    return startWorker("strategies-worker.ts", [JSON.stringify(given)]);
  };
  const lead = makeLead(strategy, () => scriptedModel([say("unused")]));
  const engine = restate({ ingress, admin, namespace, log: () => undefined });
  await using runtime = createRuntime({ agents: [lead], engine });
  const [first = null, ...others] = kills;
  let worker = await serve(first);
  // A worker may die before it has answered: the next one does.
  const started = runtime.start(lead, "Do it.");
  for (const next of [...others, null]) {
    expect(await worker.exit).toBe("SIGKILL");
    worker = await serve(next);
  }
  return await outcomeOf(await started);
}

test.each(sample(strategyNames, 0.3))(
  "10.7 %s gives the same answer and ledger when workers are killed at step boundaries",
  async (name) => {
    const strategy = findStrategy(name);
    const namespace = `strategy-${strategyNames.indexOf(name)}`;
    const calm = await runCalmly(strategy, `${namespace}-calm`);
    expect(calm).toMatchObject({ result: { status: "completed", output: strategy.answer }, inDoubt: [] });
    expect(calm.settled).toHaveLength(strategy.calls);

    await using double = await startDouble(strategy);
    const kills = killsOf(calm.steps);
    const killed = await runKilled(strategy, namespace, { kills, double });
    expect(killed.result).toMatchObject({ status: "completed", output: strategy.answer });
    expect(killed.settled).toEqual(calm.settled);
    expect(killed.inDoubt.length).toBeLessThanOrEqual(kills.length);
    expect(killed.result.inDoubtMicros).toBe(killed.inDoubt.reduce((sum, each) => sum + each, 0));
    // A call in doubt was billed, and its answer was lost with the worker.
    const calls = killed.settled.length + killed.inDoubt.length;
    expect(double.bill.total()).toMatchObject({ requests: calls, billed: calls });
    process.stdout.write(
      `${name}: ${calm.steps} steps, ${kills.length} kills, ${killed.inDoubt.length} calls in doubt\n`,
    );
  },
);
