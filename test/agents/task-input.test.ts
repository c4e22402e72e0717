import { agent, InvalidInputError } from "reeve";
import { type TaskOf } from "#kernel";
import { supervisor } from "reeve/architectures";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

const trip = z.object({ city: z.string(), days: z.number().default(1) });
const plannerModel = () => scriptedModel([say("Three days in Rome.")]);
const planner = (model = plannerModel()) =>
  agent({ name: "planner", description: "Plans trips", model, input: trip });

const dataOf = (model: ReturnType<typeof plannerModel>) =>
  model.requests[0]?.messages.flatMap(({ content }) => content.filter(({ type }) => type === "data"));

test("data that does not match the input schema is refused before a run starts, and a default is filled in", async () => {
  const model = plannerModel();
  const plans = planner(model);
  await using t = testRuntime({ agents: [plans] });
  // @ts-expect-error a text is not data
  const refused = t.runtime.start(plans, "Rome");
  await expect(refused).rejects.toThrow(InvalidInputError);
  await expect(refused).rejects.toThrow(/its data does not match the input schema of agent planner/);
  // @ts-expect-error the city is a text
  await expect(t.run(plans, { data: { city: 7 } })).rejects.toThrow(/city: expected string/);
  expect(model.requests).toHaveLength(0);
  expect(await t.run(plans, { data: { city: "Rome" } })).toMatchObject({ output: "Three days in Rome." });
  expect(dataOf(model)).toMatchObject([{ data: { city: "Rome", days: 1 } }]);
});

test("the type of the task is that of the schema, and an agent without one takes any input", async () => {
  const plans = planner();
  expectTypeOf<TaskOf<typeof plans>["data"]>().toEqualTypeOf<z.input<typeof trip>>();
  const plain = agent({ name: "plain", model: scriptedModel([say("Hm.")]) });
  await using t = testRuntime({ agents: [plain] });
  expect(await t.run(plain, "anything")).toMatchObject({ output: "Hm." });
  expect(await t.run(plain, { data: 7 })).toMatchObject({ output: "Hm." });
});

test("ask_<name> has the schema of the member, and wrong input gives the model an error and no run", async () => {
  const model = plannerModel();
  const root = scriptedModel([
    call("ask_planner", { task: "Rome" }),
    call("ask_planner", { city: "Rome", days: 3 }),
    say("Done."),
  ]);
  const lead = agent({ name: "lead", model: root, team: [planner(model)] });
  await using t = testRuntime({ agents: [lead] });
  const run = await t.start(lead, "Go.");
  expect(await run.result()).toMatchObject({ output: "Done." });
  expect(root.requests[0]?.tools[0]?.inputSchema).toMatchObject({ properties: { city: { type: "string" } } });
  const starts = (await t.events(run)).filter(({ type }) => type === "run.start");
  expect(starts).toHaveLength(2);
  expect(dataOf(model)).toMatchObject([{ data: { city: "Rome", days: 3 } }]);
});

test("the output of a supervisor's worker with a schema can be forwarded", async () => {
  const model = plannerModel();
  const root = scriptedModel([call("ask_planner", { city: "Rome", forward: true })]);
  const lead = agent({
    name: "lead",
    model: root,
    architecture: supervisor({ workers: [planner(model)] }),
  });
  await using t = testRuntime({ agents: [lead] });
  expect(await t.run(lead, "Go.")).toMatchObject({ output: "Three days in Rome.", costMicros: 30 });
  expect(dataOf(model)).toMatchObject([{ data: { city: "Rome", days: 1 } }]);
});

test("handoff_to_<name> has the schema of the next agent", async () => {
  const model = plannerModel();
  const root = scriptedModel([
    call("handoff_to_planner", { message: "Rome" }),
    call("handoff_to_planner", { city: "Rome" }),
  ]);
  const desk = agent({ name: "desk", model: root, handoffs: [planner(model)] });
  await using t = testRuntime({ agents: [desk] });
  expect(await t.run(desk, "Go.")).toMatchObject({ output: "Three days in Rome.", costMicros: 45 });
});

test("an input schema must describe an object, and a task that looks like a handoff is refused", async () => {
  expect(() => agent({ name: "x", model: plannerModel(), input: z.string() })).toThrow(
    "the input schema of agent x must describe an object",
  );
  const loose = agent({ name: "loose", model: plannerModel(), input: z.looseObject({}) });
  await using t = testRuntime({ agents: [loose] });
  await expect(t.run(loose, { data: { "~handoff": { messages: [] } } })).rejects.toThrow(/reserved/);
});
