import { agent, AgentId, createRuntime, tool, type Agent, type NumberedEvent, type RunHandle } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { freePort } from "../../free-port.ts";
import { wire, type Passing } from "./wire.ts";
import { killWorkers, startWorker } from "./worker-process.ts";

let server: RestateServer;

beforeAll(async () => {
  server = await restateServer();
});

afterEach(killWorkers);
afterAll(() => server.stop());

test("a gate whose answer was lost is asked again, and the grant is made and reported once", async () => {
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    risk: "safe",
    execute: async () => "seen",
  });
  const model = scriptedModel([call("look", {}), say("done")]);
  const { events, lost } = await withLostAnswers(agent({ name: "granted", model, tools: [look] }));
  expect(lost).toBe(3);
  const count = (type: NumberedEvent["type"]): number => events.filter((event) => event.type === type).length;
  expect([count("budget.reserved"), count("model.start"), count("tool.start")]).toEqual([2, 2, 1]);
  expect(idsOf(events).size).toBe(events.length);
});

test("a gate whose answer was lost is asked again, and the denial is reported once", async () => {
  const lead: Agent = {
    id: AgentId.of("denied"),
    model: scriptedModel([say("never")]),
    run: async (ctx) => {
      for (let tries = 0; tries < 10; tries++) await ctx.llm([]).catch(() => null);
    },
  };
  const { events, lost } = await withLostAnswers(lead, { maxTokens: 1 });
  expect(lost).toBe(10);
  expect(events.filter(({ type }) => type === "budget.denied")).toHaveLength(10);
  expect(idsOf(events).size).toBe(events.length);
});

test("a killed worker's report that arrives after its run has continued elsewhere is not booked", async () => {
  const held = Promise.withResolvers<Passing>();
  await using slow = await wire(server.ingress, async (passing) => {
    if (passing.method === "begin") return held.resolve(passing);
    await passing.deliver();
    passing.answer();
  });
  const port = String(await freePort());
  await startWorker("two-lives-worker.ts", [slow.url, server.admin, port]);
  const lead: Agent = { id: AgentId.of("lead"), run: async () => null };
  await using runtime = createRuntime({ agents: [lead], engine: restate(server) });
  const run = await runtime.start(lead, "go");
  const late = await held.promise;
  await killWorkers();
  await startWorker("two-lives-worker.ts", [server.ingress, server.admin, port]);
  await expect.poll(() => run.status()).toBe("waiting");
  await late.deliver();
  await run.signal("go");
  const events = await eventsOf(run);
  const flows = events.flatMap((event) => (event.type === "flow.start" ? [event.flow] : []));
  expect(flows).toEqual(["first life, 1", "first life, 2", "first life, 3", "second life"]);
  expect(idsOf(events).size).toBe(events.length);
  // The late call was refused: nothing is reserved for it.
  expect(events.filter(({ type }) => type === "budget.reserved")).toHaveLength(1);
  expect((await run.result()).inDoubtMicros).toBe(0);
});

/** Runs an agent whose worker loses the gate's first answer to each request. */
async function withLostAnswers(
  lead: Agent,
  budget = {},
): Promise<{ readonly events: readonly NumberedEvent[]; readonly lost: number }> {
  const asked = new Set<string>();
  await using deaf = await wire(server.ingress, async (passing) => {
    await passing.deliver();
    const question = passing.body.toString("base64");
    const isLost = passing.method === "begin" && !asked.has(question);
    if (isLost) asked.add(question);
    if (isLost) passing.hangUp();
    else passing.answer();
  });
  const engine = restate({ ...server, ingress: deaf.url, namespace: lead.id, log: () => undefined });
  await using runtime = createRuntime({ agents: [lead], engine });
  await runtime.serve({ port: 0 });
  const events = await eventsOf(await runtime.start(lead, "go", { budget }));
  return { events, lost: asked.size };
}

async function eventsOf(run: RunHandle): Promise<readonly NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  return events;
}

const idsOf = (events: readonly NumberedEvent[]): ReadonlySet<string> =>
  new Set(events.map(({ eventId }) => eventId));
