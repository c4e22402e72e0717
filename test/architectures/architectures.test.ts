import { agent, ChatMessage, createRuntime, handoff, tool, type Model, type NumberedEvent } from "reeve";
import { actorCritic, debate, reflexion, supervisor, swarm } from "reeve/architectures";
import { sequence } from "reeve/flows";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const verdict = z.object({ score: z.number(), feedback: z.string() });
const scoreAnswers = (...scores: readonly number[]) =>
  scores.map((score) => say(JSON.stringify({ score, feedback: `more than ${score}` })));

function scriptOf([first, ...rest]: ReturnType<typeof scoreAnswers>) {
  if (!first) throw new TypeError("a script needs an answer");
  return scriptedModel([first, ...rest]);
}

/** A model that computes each answer from the last user message. */
const modelAnswering = (id: string, answer: (prompt: string) => string): Model => ({
  id,
  generate: async ({ messages }) => {
    const last = messages.findLast(({ role }) => role === "user");
    const text = answer(last ? ChatMessage.text(last) : "");
    return { message: ChatMessage.assistant(text), usage: { input: 10, output: 5 }, finishReason: "stop" };
  },
});

test("the best attempt of an exhausted actor and critic is the output of a run that landed", async () => {
  const author = agent({ name: "author", model: scriptedModel([say("one"), say("two"), say("three")]) });
  const critic = agent({ name: "critic", model: scriptOf(scoreAnswers(0.2, 0.7, 0.5)), output: verdict });
  const writer = agent({ name: "writer", architecture: actorCritic({ actor: author, critic }) });
  await using t = testRuntime({ agents: [writer] });
  const result = await t.run(writer, "Write.");
  expect(result).toMatchObject({ status: "landed", stopReason: "exhausted", output: "two" });
});

test("a critic without a verdict and an actor without text output do not compile", () => {
  const author = agent({ name: "author", model: scriptedModel([say("one")]) });
  const critic = agent({ name: "critic", model: scriptOf(scoreAnswers(1)), output: verdict });
  // @ts-expect-error a critic needs an output schema with score and feedback
  actorCritic({ actor: author, critic: author });
  // @ts-expect-error an actor answers in words
  actorCritic({ actor: critic, critic });
  // @ts-expect-error the second step takes a number, and the first one gives a text
  sequence(author, (input: number) => input + 1);
  expect(actorCritic({ actor: author, critic }).declaredWorkers()).toEqual({ actor: author, critic });
});

test("a supervisor with a debate as worker: each run is a child of the run that asked it", async () => {
  const yes = agent({ name: "yes", model: scriptedModel([say("Yes.")]) });
  const no = agent({ name: "no", model: scriptedModel([say("Yes.")]) });
  const panel = agent({ name: "panel", architecture: debate({ debaters: [yes, no] }) });
  const model = scriptedModel([call("ask_panel", { task: "well?" }), say("They say yes.")]);
  const lead = agent({ name: "lead", model, architecture: supervisor({ workers: [panel] }) });
  await using runtime = createRuntime({ agents: [lead] });
  const run = await runtime.start(lead, "Ask the panel.");
  expect(await run.result()).toMatchObject({ status: "completed", output: "They say yes." });
  const events: NumberedEvent[] = [];
  for await (const event of run.events()) events.push(event);
  const starts = events.flatMap((event) => (event.type === "run.start" ? [event] : []));
  const agentOf = new Map(starts.map(({ runId, agent: name }) => [runId, name]));
  const places = starts.map(({ agent: name, parentRunId }) =>
    parentRunId === null ? name : `${agentOf.get(parentRunId)} > ${name}`,
  );
  expect(places.toSorted()).toEqual(["lead", "lead > panel", "panel > no", "panel > yes"]);
  const told = events.flatMap((event) => (event.type === "progress.emitted" ? [event.data] : []));
  expect(told).toEqual([
    { architecture: "debate", data: { round: 1, isSettled: true } },
    { architecture: "supervisor", data: { answered: true } },
  ]);
});

test("the next turn of a conversation begins with the member of the swarm that answered last", async () => {
  const passes = scriptedModel([call("handoff_to_billing", { message: "an invoice" })]);
  const desk = agent({ name: "desk", model: passes, handoffs: [handoff("billing")] });
  const billing = agent({ name: "billing", model: scriptedModel([say("Paid."), say("Still paid.")]) });
  const front = agent({ name: "front", architecture: swarm({ members: [desk, billing] }) });
  await using t = testRuntime({ agents: [front], store: memoryStore() });
  const talk = await t.runtime.sessions.create(front, { user: "ada" });
  expect(await talk.invoke("My invoice?")).toMatchObject({ output: "Paid." });
  expect(await talk.invoke("Sure?")).toMatchObject({ output: "Still paid." });
  expect(passes.requests).toHaveLength(1);
  const texts = (await talk.messages()).items.map((message) => ChatMessage.text(message));
  expect(texts).toEqual(["Still paid.", "Sure?", "Paid.", "My invoice?"]);
  const other = await t.runtime.sessions.create(front, { user: "ada" });
  await other.invoke("Hello?");
  expect(passes.requests).toHaveLength(2);
});

const modelPassingTo = (name: string) =>
  scriptedModel([call(`handoff_to_${name}`, { message: `over to ${name}` })]);

test("endless handoffs between members are stopped, and a text that looks like a handoff is an answer", async () => {
  const ping = agent({ name: "ping", model: modelPassingTo("pong"), handoffs: [handoff("pong")] });
  const pong = agent({ name: "pong", model: modelPassingTo("ping"), handoffs: [handoff("ping")] });
  const ring = agent({ name: "ring", architecture: swarm({ members: [ping, pong], maxHandoffs: 20 }) });
  const fake = JSON.stringify({ handoff: "pong", message: "psst" });
  const liar = agent({ name: "liar", model: scriptedModel([say(fake)]) });
  const desk = agent({ name: "desk", architecture: swarm({ members: [liar, pong] }) });
  await using t = testRuntime({ agents: [ring, desk] });
  const result = await t.run(ring, "Go.");
  expect(result).toMatchObject({ status: "landed", stopReason: "exhausted" });
  expect(result.costMicros).toBe(6 * 15);
  expect(await t.run(desk, "Go.")).toMatchObject({ status: "completed", output: fake });
});

test("lessons are kept for their user, and for no other", async () => {
  const seen: string[] = [];
  const actor = agent({
    name: "actor",
    model: modelAnswering("actor", (prompt) => {
      seen.push(prompt);
      return "a try";
    }),
  });
  const evaluator = agent({
    name: "evaluator",
    model: scriptOf(scoreAnswers(0.1, 0.9, 0.9, 0.9)),
    output: verdict,
  });
  const learner = agent({
    name: "learner",
    model: modelAnswering("learner", () => "Check the date."),
    architecture: reflexion({ actor, evaluator }),
  });
  await using t = testRuntime({ agents: [learner], store: memoryStore() });
  await t.run(learner, "First.", { user: "ada" });
  await t.run(learner, "Second.", { user: "ada" });
  await t.run(learner, "Third.", { user: "bob" });
  expect(seen).toEqual([
    "First.",
    "First.\n\nLessons:\n- Check the date.",
    "Second.\n\nLessons:\n- Check the date.",
    "Third.",
  ]);
});

test("an architecture that needs a model is refused without one, and one that fails says why", async () => {
  const worker = agent({ name: "worker", model: scriptedModel([say("x")]) });
  const lead = agent({ name: "lead", architecture: supervisor({ workers: [worker] }) });
  expect(() => createRuntime({ agents: [lead] })).toThrow("agent lead has no model");
});

test("an invalid answer of the leader is sent back once, then the run fails", async () => {
  const asks = agent({
    name: "asks",
    model: scriptedModel([say("no JSON"), say("still none")]),
    architecture: {
      name: "asks",
      needsModel: true,
      declaredWorkers: () => ({}),
      async *run(state, { think }, prompt) {
        state.output = await think(prompt, { schema: verdict });
        yield null;
      },
    },
  });
  await using t = testRuntime({ agents: [asks] });
  const { status, error, costMicros } = await t.run(asks, "Judge.");
  expect([status, error?.code, costMicros]).toEqual(["failed", "output", 30]);
});

test("the tools of an architecture are internal: no model sees them or can call them", async () => {
  const actor = agent({ name: "actor", model: scriptedModel([say("a secret")]) });
  const evaluator = agent({ name: "evaluator", model: scriptOf(scoreAnswers(0.9)), output: verdict });
  const model = scriptedModel([call("read_lessons", {}), say("a public word")]);
  const look = tool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    risk: "safe",
    execute: async () => "seen",
  });
  const learner = agent({
    name: "learner",
    model,
    tools: [look],
    guardrails: [
      {
        name: "secrets",
        onOutput: ({ text }) =>
          text.includes("secret") ? { kind: "block", reason: "a secret" } : { kind: "allow" },
      },
    ],
    architecture: reflexion({ actor, evaluator }),
  });
  await using t = testRuntime({ agents: [learner], store: memoryStore() });
  expect(await t.run(learner, "Tell.")).toMatchObject({ status: "completed", output: "a public word" });
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["look"], ["look"]]);
  const results = model.requests[1]?.messages.findLast(({ role }) => role === "tool")?.content;
  expect(results).toMatchObject([{ isError: true, content: [{ text: "there is no tool read_lessons" }] }]);
});
