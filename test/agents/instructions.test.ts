import { agent, ChatMessage } from "reeve";
import { type InstructionsInput } from "#agents";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { look } from "./look-tool.ts";

test("instructions as a function see scope and input, once per turn, and a replay sees the same text", async () => {
  const seen: InstructionsInput[] = [];
  const model = scriptedModel([call("look", {}), say("one"), say("two")]);
  const worker = agent({
    name: "worker",
    model,
    tools: [look],
    // Every call gives another text: only the recorded one may be seen.
    instructions: async (turn) => `Help ${turn.scope.userId} (${seen.push(turn)})`,
  });
  await using t = testRuntime({ agents: [worker] });
  const run = await t.start(worker, "first", { user: "ada", metadata: { plan: "pro" } });
  await run.send("second");
  expect(await run.result()).toMatchObject({ status: "completed", output: "two" });
  const systems = model.requests.map(({ messages: [first] }) => first && ChatMessage.text(first));
  expect(systems).toEqual(["Help ada (1)", "Help ada (1)", "Help ada (2)"]);
  expect(seen.map(({ input }) => input)).toEqual(["first", "second"]);
  expect(seen[0]?.scope.metadata).toEqual({ plan: "pro" });
  const roles = model.requests.at(-1)?.messages.map(({ role }) => role);
  expect(roles).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
});

test("the output schema is added after instructions that are a function", async () => {
  const model = scriptedModel([say('{"year": 1987}')]);
  const output = z.object({ year: z.number() });
  const worker = agent({ name: "worker", model, output, instructions: () => "Be exact." });
  await using t = testRuntime({ agents: [worker] });
  expect((await t.run(worker, "When?")).output).toEqual({ year: 1987 });
  const system = model.requests[0]?.messages[0];
  expect(system && ChatMessage.text(system)).toMatch(/^Be exact\.\n\n.*JSON Schema/s);
});

const instructions = (): string => {
  throw new Error("no profile");
};

test("instructions that throw fail the run with their message, before anything is spent", async () => {
  const model = scriptedModel([say("x")]);
  const worker = agent({ name: "worker", model, instructions });
  await using t = testRuntime({ agents: [worker], maxRestarts: 0 });
  expect(await t.run(worker, "go")).toMatchObject({
    status: "failed",
    costMicros: 0,
    error: { message: expect.stringContaining("no profile") },
  });
  expect(model.requests).toHaveLength(0);
});
