import { AgentId, createRuntime, type Agent, type RunHandle } from "reeve";
import { restate, restateServer, type LogRecord, type RestateServer } from "reeve/engines/restate";
import { fakeProvider, type ProviderRequest, type FakeProvider } from "reeve/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launch, program, settle } from "./counter-program.ts";
import { freePort } from "../../free-port.ts";
import { eventually, figure, killWorkers, startWorker, type WorkerProcess } from "./worker-process.ts";

let server: RestateServer;
let double: FakeProvider;
/** The requests to the fake provider, by model. Held ones are answered on release. */
let requests: string[];
let held: Record<string, PromiseWithResolvers<void>>;
const countRequests = (model: string): number => requests.filter((name) => name === model).length;

async function script({ model }: ProviderRequest): Promise<{ text: string }> {
  requests.push(model);
  await held[model]?.promise;
  return { text: `${model} answers` };
}

beforeAll(async () => {
  server = await restateServer();
});

beforeEach(async () => {
  requests = [];
  held = { stuck: Promise.withResolvers(), "stuck-too": Promise.withResolvers() };
  double = await fakeProvider({ script });
});

afterEach(async () => {
  for (const model of Object.values(held)) model.resolve();
  await killWorkers();
  await double.close();
});

afterAll(() => server[Symbol.asyncDispose]());

test("a worker that must end in a model step keeps its answer; the run continues elsewhere", async () => {
  const [busy, other, run] = await startOnOneOfTwo("inside", () => countRequests("stuck") === 1);
  busy.process.kill("SIGTERM");
  await eventually(async () => (await fetch(`${busy.probes}/ready`)).status === 503);
  expect(await (await fetch(`${busy.probes}/ready`)).json()).toEqual({ ready: false, reason: "draining" });
  const meanwhile = await start("between");
  await eventually(async () => (await meanwhile.status()) === "waiting");
  expect(await figure(busy, "executions_started_total")).toBe(1);
  held["stuck"]?.resolve();
  expect(await busy.exit).toBe(0);
  expect(await run.result()).toMatchObject({
    status: "completed",
    output: ["quick answers", "stuck answers", "quick answers"],
    inDoubtMicros: 0,
  });
  expect([countRequests("quick"), countRequests("stuck")]).toEqual([3, 1]);
  expect(await figure(other, "executions_ended_total")).toBe(1);
});

// Drained when the steps have begun, but not all have passed the gate, which another worker owns.
test("a draining worker keeps the results of all concurrent steps, and begins none after the first ends", async () => {
  const [busy, other, run] = await startOnOneOfTwo("beside", (kept) => kept === 2);
  busy.process.kill("SIGTERM");
  await eventually(async () => (await fetch(`${busy.probes}/ready`)).status === 503);
  held["stuck"]?.resolve();
  await eventually(async () => (await figure(busy, "kept_steps")) === 1);
  held["stuck-too"]?.resolve();
  expect(await busy.exit).toBe(0);
  expect(await run.result()).toMatchObject({
    output: [
      ["stuck answers", "quick answers"],
      ["stuck-too answers", "quick answers"],
    ],
    inDoubtMicros: 0,
  });
  expect([countRequests("quick"), countRequests("stuck"), countRequests("stuck-too")]).toEqual([2, 1, 1]);
  expect(await figure(other, "executions_ended_total")).toBe(1);
});

test("a waiting run leaves a draining worker at once, and waits in another worker", async () => {
  const [busy, other, run] = await startOnOneOfTwo("between", () => countRequests("quick") === 1);
  await eventually(async () => (await run.status()) === "waiting");
  busy.process.kill("SIGTERM");
  expect(await busy.exit).toBe(0);
  await eventually(async () => (await figure(other, "executions_open")) === 1);
  await run.signal("go");
  expect(await run.result()).toMatchObject({ output: ["quick answers", "quick answers"] });
  expect(countRequests("quick")).toBe(2);
});

test("a drain ends at its timeout, and reports unfinished work", async () => {
  const records: LogRecord[] = [];
  const engine = restate({
    ...server,
    namespace: "short",
    build: "one",
    log: (record) => records.push(record),
  });
  engine.define(program);
  await engine.serve({ port: 0 });
  const begun = Promise.withResolvers<void>();
  await launch(engine, (primitives) =>
    settle(
      primitives,
      primitives.step("endless", () => {
        begun.resolve();
        return new Promise(() => {});
      }),
    ),
  );
  await begun.promise;
  await engine.drain({ graceMs: 50 });
  await engine[Symbol.asyncDispose]();
  expect(records).toEqual([
    { level: "info", message: expect.stringMatching(/^serving http:.*\/v\/one$/) },
    { level: "warn", message: "the drain timed out, executions still running: 1" },
  ]);
});

/** Starts two workers and a run, and waits for the condition. Returns the worker of the run first. */
async function startOnOneOfTwo(
  name: string,
  isTime: (keptSteps: number) => boolean,
): Promise<readonly [WorkerProcess, WorkerProcess, RunHandle]> {
  const given = [server.ingress, server.admin, String(await freePort()), double.baseURL];
  const [first, second] = await Promise.all([
    startWorker("agents-worker.ts", given),
    startWorker("agents-worker.ts", given),
  ]);
  const run = await start(name);
  await eventually(async () => {
    const kept = await Promise.all([figure(first, "kept_steps"), figure(second, "kept_steps")]);
    return isTime(Math.max(...kept));
  });
  return (await figure(first, "executions_open")) === 1 ? [first, second, run] : [second, first, run];
}

/** Only starts trees here: the agents' code is in the workers. */
function start(name: string): Promise<RunHandle> {
  const agent: Agent = { id: AgentId.of(name), run: async () => null };
  return createRuntime({ agents: [agent], engine: restate(server) }).start(agent, "go");
}
