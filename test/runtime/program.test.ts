import {
  agent,
  AgentId,
  createRuntime,
  languageModel,
  ProgramError,
  tool,
  type Agent,
  type Model,
} from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { readAll } from "./read-all.ts";

const model = scriptedModel([say("done")]);
const agentNamed = (name: string, more: Partial<Agent> = {}): Agent => ({
  id: AgentId.of(name),
  run: async () => null,
  ...more,
});
const search = tool({
  name: "search",
  description: "Searches",
  input: z.object({}),
  risk: "safe",
  execute: async () => null,
});

function problemsOf(agents: readonly Agent[]): readonly string[] {
  try {
    createRuntime({ agents });
  } catch (error) {
    if (error instanceof ProgramError) return error.problems;
    throw error;
  }
  return [];
}

test("team members at any depth are part of the program without being listed", async () => {
  const writer = agent({ name: "writer", model: scriptedModel([say("a text")]) });
  const researcher = agent({
    name: "researcher",
    model: scriptedModel([call("ask_writer", { task: "write" }), say("found")]),
    team: [{ agent: writer, priority: "low" }],
  });
  const lead = agent({
    name: "lead",
    model: scriptedModel([call("ask_researcher", { task: "find" }), say("report")]),
    team: [researcher],
  });
  await using runtime = createRuntime({ agents: [lead] });
  expect(runtime.agents).toEqual([lead, researcher, writer]);
  const run = await runtime.start(lead, "go");
  expect(await run.result()).toMatchObject({ status: "completed", output: "report" });
  // The last event is in the store after the runs that it speaks of.
  await readAll(run.events());
  const agents = (await runtime.runs.tree(run.treeId)).map(({ agentId, status }) => [agentId, status]);
  expect(agents).toEqual([
    ["lead", "completed"],
    ["researcher", "completed"],
    ["writer", "completed"],
  ]);
});

test("agents that spawn each other are each part of the program once", async () => {
  const members: Agent[] = [];
  const one = agentNamed("one", { team: members });
  members.push(agentNamed("two", { team: [one] }));
  await using runtime = createRuntime({ agents: [one] });
  expect(runtime.agents.map(({ id }) => id)).toEqual(["one", "two"]);
});

test("one error lists every problem of a program with its fix", () => {
  const unpriced = scriptedModel([say("x")], { id: "my-finetune", price: null });
  const missing = [undefined][0];
  const writer = agentNamed("writer");
  const lead = agent({
    name: "lead",
    // @ts-expect-error -- a model that an environment variable did not name
    model: missing,
    tools: [search, search, { ...search, name: "ask_writer" }, { ...search, name: "read page" }],
    team: [writer, { agent: agentNamed("résumé".replaceAll("é", ".")) }],
  });
  const saver = agent({ name: "saver", model: unpriced, budget: { maxCostUsd: 1 }, team: [writer, writer] });
  const agents: Agent[] = [
    lead,
    // @ts-expect-error -- an agent that another module has not defined yet
    missing,
    saver,
    agentNamed("writer"),
    agentNamed("editor", { team: [{ id: AgentId.of("translator") }] }),
  ];
  expect(() => createRuntime({ agents })).toThrow(
    new ProgramError({
      problems: [
        "agents[1] is undefined: pass what agent() returns, or an object with id and run()",
        "two agents are named writer: give one of them another name",
        'agent lead has no model: give one, for example agent({ model: anthropic("claude-sonnet-4-5") })',
        'agent lead has a tool named "read page": give it another name (use at most 64 letters, digits, _ and -, starting with a letter or _)',
        'agent lead would call a member of its team by a tool named "ask_r.sum.": rename that agent (use at most 64 letters, digits, _ and -, starting with a letter or _)',
        "agent lead has two tools named search: give one of them another name",
        "agent lead has a tool named ask_writer, and its team member writer is called by a tool of that name: give the tool another name",
        "agent saver has a budget.maxCostUsd, and the price of its model my-finetune is not known: state it with languageModel(model, { price: { input: <micro-dollars per million tokens>, output: <...> } })",
        "agent saver has two team members named writer: list it once, or give one of them another name",
        "agent editor has translator on its team, which has no run(): list the agent of that name in createRuntime({ agents })",
      ],
    }),
  );
});

test("the message of a single problem is the problem alone", () => {
  expect(() => createRuntime({ agents: [agentNamed("lead"), agentNamed("lead")] })).toThrow(
    /^two agents are named lead: give one of them another name$/,
  );
});

test("a tool without a schema, or without code, is a problem", () => {
  const noSchema = { ...search, input: undefined };
  const noCode = { name: "read", description: "Reads", input: z.object({}), risk: "safe" };
  // @ts-expect-error -- as a program in JavaScript may have it
  const lead = agent({ name: "lead", model, tools: [noSchema, noCode] });
  expect(problemsOf([lead])).toEqual([
    "tool search of agent lead has no input schema: give a Standard Schema, such as z.object({})",
    "tool read of agent lead does nothing: give it execute() or run()",
  ]);
});

const priced = (input: number): Model => ({ ...model, id: "m", price: { input, output: 1 } });

test("two prices of one model are a problem", () => {
  const one = agent({ name: "one", model: priced(1) });
  const two = agent({ name: "two", model: priced(2) });
  expect(problemsOf([one, two])).toEqual([
    'two prices for model /m: {"input":1,"output":1} and {"input":2,"output":1}; give both models the same price, or one of them another provider or id',
  ]);
});

test("start refuses an agent of a known name with other code", async () => {
  const known = agentNamed("lead");
  await using runtime = createRuntime({ agents: [known] });
  await expect(runtime.start(agentNamed("lead"), "go")).rejects.toThrow(
    /^another agent named lead is listed in createRuntime\(\{ agents \}\): start that one, or rename this one and list it$/,
  );
  const cheaper = { ...known, priority: "low" } as const;
  expect((await (await runtime.start(cheaper, "go")).result()).status).toBe("completed");
});

test("a tool that spawns an agent that is not part of the program ends the run with the fix", async () => {
  const stranger = agentNamed("stranger");
  const delegate = tool({
    name: "delegate",
    description: "Delegates",
    input: z.object({}),
    risk: "safe",
    run: async (ctx) => (await ctx.ask(stranger, "help", { timeoutS: 5 })).kind,
  });
  const calls = scriptedModel([call("delegate", {}), say("all fine")]);
  const lead = agent({ name: "lead", model: calls, tools: [delegate] });
  await using runtime = createRuntime({ agents: [lead] });
  const result = await (await runtime.start(lead, "go")).result();
  expect(result).toMatchObject({ status: "failed", stopReason: "error", output: null });
  expect(result.error?.code).toBe("invalid-program");
  expect(result.error?.message).toBe(
    "agent stranger is not part of this program: put it on the team of an agent, or list it in createRuntime({ agents })",
  );
});

test("a model that is not a language model is reported with its agent", () => {
  // @ts-expect-error -- a bare name
  expect(() => agent({ name: "lead", model: "gpt-5" })).toThrow(/^model must be an object, got "gpt-5"/);
  expect(languageModel(model)).toBe(model);
});
