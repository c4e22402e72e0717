import { createRuntime, type NumberedEvent, type Priority } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { fakeProvider, say, scriptedModel, type ProviderRequest, type ProviderAnswer } from "reeve/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../free-port.ts";
import { createCrowd, crowdPriorities, crowdSize, workerName } from "./fixtures/crowd.ts";
import { killWorkers, startWorker } from "./worker-process.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterEach(killWorkers);

afterAll(() => server[Symbol.asyncDispose]());

const maxAgents = 20;

/** The lead calls every worker at once, and returns how many of them answered. */
function answer({ model, messages }: ProviderRequest): ProviderAnswer {
  if (model === "worker") return { text: "done" };
  const results = messages
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === "tool-result" && !part.isError);
  if (results.length > 0) return { text: `${results.length} answers` };
  const indexes = Array.from({ length: crowdSize }, (_, index) => index);
  return {
    toolCalls: indexes.map((index) => ({ name: `ask_${workerName(index)}`, input: { task: "work" } })),
  };
}

/** Returns the number of live runs after each event that changes it, in the order of the tree. */
function liveRuns(events: readonly NumberedEvent[]): readonly number[] {
  const live = new Set<string>();
  return events.flatMap(({ type, runId }) => {
    if (type === "run.start" || type === "run.resumed") live.add(runId);
    else if (type === "run.end" || type === "run.paused") live.delete(runId);
    else return [];
    return [live.size];
  });
}

/** Returns the median of the positions at which the workers of a priority started. */
function medianStart(started: readonly string[], priority: Priority): number {
  const positions = started.flatMap((name, index) => (name.startsWith(`${priority}_`) ? [index] : []));
  return positions[Math.floor(positions.length / 2)] ?? Number.NaN;
}

test("2.1 a supervisor with 100 workers never has more than 20 live runs, starts high before low, and starves none", async () => {
  const processes = new Map<string, number>();
  const isServedTwice = Promise.withResolvers<void>();
  await using double = await fakeProvider({
    script: async (request) => {
      const name = request.headers["x-process"] ?? "";
      const calls = (processes.get(name) ?? 0) + 1;
      processes.set(name, calls);
      if (calls >= 40) await isServedTwice.promise;
      return answer(request);
    },
    latency: ({ model }) => (model === "worker" ? 300 : 0),
  });
  const serve = async (): Promise<void> => {
    const port = String(await freePort());
    await startWorker("crowd-worker.ts", [server.ingress, server.admin, port, double.baseURL]);
  };
  await serve();
  // Starts the tree only: the workers call the models.
  const lead = createCrowd(() => scriptedModel([say("unused")]));
  await using runtime = createRuntime({
    agents: [lead],
    engine: restate({ ...server, log: () => undefined }),
  });
  const run = await runtime.start(lead, "Ask all.", { spawn: { maxAgents } });
  // New runs start in the second process. The others remain in the first.
  void double.inFlight.reaches(5).then(serve).then(isServedTwice.resolve, isServedTwice.reject);
  const events: NumberedEvent[] = [];
  const counted: number[] = [];
  for await (const event of run.events()) {
    events.push(event);
    if (event.type === "run.start") counted.push((await run.ledger()).tree.liveAgents);
  }
  expect(await run.result()).toMatchObject({ status: "completed", output: `${crowdSize} answers` });

  const live = liveRuns(events);
  expect([Math.max(...live), live.at(-1)]).toEqual([maxAgents, 0]);
  expect(counted).toHaveLength(crowdSize + 1);
  expect(Math.max(...counted)).toBeLessThanOrEqual(maxAgents);
  expect(double.inFlight.peakRuns()).toBeLessThanOrEqual(maxAgents);

  const ends = events.flatMap((event) => (event.type === "run.end" ? [event.status] : []));
  expect(ends).toEqual(Array.from({ length: crowdSize + 1 }, () => "completed"));
  expect(double.bill.total(({ model }) => model === "worker").billed).toBe(crowdSize);
  const started = events.flatMap(({ type, agent }) =>
    type === "run.start" ? [agent.split("/")[0] ?? ""] : [],
  );
  const medians = crowdPriorities.map((priority) => medianStart(started, priority));
  process.stdout.write(
    `median starts of ${crowdPriorities.join(", ")}: ${medians.join(", ")}; model calls of each process: ${[...processes.values()].join(", ")}\n`,
  );
  expect(medians).toEqual(medians.toSorted((one, other) => other - one));
  expect(new Set(medians).size).toBe(crowdPriorities.length);
  expect([...processes.values()].filter((calls) => calls >= 5)).toHaveLength(2);
});
