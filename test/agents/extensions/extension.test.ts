import {
  agent,
  ChatMessage,
  extension,
  HookManager,
  tool,
  type ChatMiddleware,
  type Extension,
  type Guardrail,
} from "reeve";
import { type EventType } from "#kernel";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const toolFor = (name: string, owner: string) =>
  tool({
    name,
    description: `${name} of ${owner}`,
    input: z.object({}),
    risk: "safe",
    execute: () => owner,
  });

/** A guardrail that notes who looked, and lets everything pass. */
const notes = (name: string, log: string[]): Guardrail => ({
  name,
  onInput: () => {
    log.push(`guardrail ${name}`);
    return { kind: "allow" };
  },
});

/** A layer around model calls that notes its name. */
const layer = (name: string, log: string[]): ChatMiddleware => ({
  process: async (_, next) => {
    log.push(`layer ${name}`);
    await next();
  },
});

function loggingHooks(type: EventType, log: string[], name: string): HookManager {
  const hooks = new HookManager();
  hooks.on(type, () => void log.push(`hook ${name}`));
  return hooks;
}

test("an agent's parts follow the parts of its extensions, in the order given", async () => {
  const log: string[] = [];
  const bundle = (name: string): Extension =>
    extension({
      name,
      tools: [toolFor(`look_${name}`, name)],
      hooks: loggingHooks("turn.end", log, name),
      middleware: { chat: [layer(name, log)] },
      guardrails: [notes(name, log)],
      ephemeral: [{ name, getState: () => `state of ${name}`, trust: "trusted" }],
    });
  const model = scriptedModel([call("look_one", {}, ["look_two", {}], ["look", {}]), say("done")]);
  const worker = agent({
    name: "worker",
    model,
    tools: [toolFor("look", "own")],
    hooks: loggingHooks("turn.end", log, "own"),
    middleware: { chat: [layer("own", log)] },
    guardrails: [notes("own", log)],
    ephemeral: [{ name: "own", getState: () => "own state", trust: "trusted" }],
    extensions: [bundle("one"), bundle("two")],
  });
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "completed", output: "done" });
  expect(worker.tools.map(({ name }) => name)).toEqual(["look", "look_one", "look_two"]);
  expect(worker.problems).toEqual([]);
  const request = model.requests.at(-1);
  const results = request?.messages.find(({ role }) => role === "tool")?.content;
  expect(JSON.stringify(results)).toMatch(/one.*two.*own/);
  expect(request?.messages.slice(-3).map(ChatMessage.text)).toEqual([
    "state of one",
    "state of two",
    "own state",
  ]);
  const before = log.filter((line) => !line.startsWith("hook"));
  const layers = ["layer one", "layer two", "layer own"];
  expect(before).toEqual(["guardrail one", "guardrail two", "guardrail own", ...layers, ...layers]);
  expect(log.filter((line) => line.startsWith("hook"))).toEqual(["hook one", "hook two", "hook own"]);
});

test("the agent's own tool wins, then that of the first extension; the other is left out and listed", async () => {
  const one = extension({ name: "one", tools: [toolFor("look", "one"), toolFor("find", "one")] });
  const two = extension({ name: "two", tools: [toolFor("find", "two")] });
  const model = scriptedModel([call("look", {}, ["find", {}]), say("done")]);
  const worker = agent({ name: "worker", model, tools: [toolFor("look", "own")], extensions: [one, two] });
  expect(worker.problems).toEqual([
    "extension one: its tool look is left out, because the agent has a tool of that name",
    "extension two: its tool find is left out, because extension one has a tool of that name",
  ]);
  await using t = testRuntime({ agents: [worker] });
  expect(await t.run(worker, "go")).toMatchObject({ status: "completed" });
  expect(model.requests[0]?.tools.map(({ description }) => description)).toEqual([
    "look of own",
    "find of one",
  ]);
});

test("an agent derived from another has each part of its extensions once, without removed parts", () => {
  const log: string[] = [];
  const one = extension({ name: "one", tools: [toolFor("look", "one")], guardrails: [notes("one", log)] });
  const first = agent({
    name: "first",
    model: scriptedModel([say("done")]),
    tools: [toolFor("read", "own")],
    extensions: [one, one],
  });
  const second = agent({ ...first, name: "second" });
  expect(second.tools.map(({ name }) => name)).toEqual(["read", "look"]);
  expect(second.policy?.guardrails).toHaveLength(1);
  expect(second.problems).toEqual([]);
  const third = agent({ ...second, name: "third", tools: [...second.tools, toolFor("write", "own")] });
  expect(third.tools.map(({ name }) => name)).toEqual(["read", "look", "write"]);
  const bare = agent({ ...first, name: "bare", extensions: [] });
  expect(bare.tools.map(({ name }) => name)).toEqual(["read"]);
});

test("a hook that fails in one extension does not keep the others from their event", async () => {
  const log: string[] = [];
  const broken = new HookManager();
  broken.on("turn.end", () => {
    throw new Error("broken");
  });
  const worker = agent({
    name: "worker",
    model: scriptedModel([say("done")]),
    extensions: [
      extension({ name: "broken", hooks: broken }),
      extension({ name: "whole", hooks: loggingHooks("turn.end", log, "whole") }),
    ],
  });
  await using t = testRuntime({ agents: [worker] });
  await t.run(worker, "go");
  expect(log).toEqual(["hook whole"]);
  expect(broken.errors).toHaveLength(1);
});

test("an extension is frozen, and later changes of its options do not reach it", () => {
  const tools = [toolFor("look", "one")];
  const made = extension({ name: "one", tools, middleware: { chat: [] } });
  tools.push(toolFor("write", "one"));
  expect(made.tools).toHaveLength(1);
  for (const part of [made, made.tools, made.middleware, made.middleware?.chat])
    expect(Object.isFrozen(part)).toBe(true);
});

test.each<readonly [string, object, RegExp]>([
  ["an empty name", { name: "" }, /needs a name/],
  ["a name with a slash", { name: "a/b" }, /needs a name .* got "a\/b"/],
  ["an unknown part", { name: "a", off: {} }, /unknown field off; fields: name, tools/],
  ["an unknown handler", { name: "a", on: { inputs: () => "x" } }, /handler for "inputs": use one of input/],
  [
    "a handler that is not a function",
    { name: "a", on: { input: "x" } },
    /handler for input is not a function/,
  ],
  [
    "a tool that no provider accepts",
    { name: "a", tools: [{ ...toolFor("ab", "x"), name: "a b" }] },
    /tool named "a b"/,
  ],
  [
    "an unknown place",
    { name: "a", sections: [{ name: "s", place: "top" }] },
    /place "top": use one of identity/,
  ],
  [
    "a timeout below zero",
    { name: "a", sections: [{ name: "s", place: "docs", timeoutMs: -1 }] },
    /timeoutMs/,
  ],
])("an extension with %s is refused", (_, options, message) => {
  expect(() => extension({ name: "none", ...options })).toThrow(message);
});
