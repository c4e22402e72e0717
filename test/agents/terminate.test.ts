import {
  agent,
  ChatMessage,
  type FunctionMiddleware,
  type Guardrail,
  Json,
  tool,
  ToolResult,
  type Tool,
} from "reeve";
import { call, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const common = { description: "Orders", input: z.object({}), risk: "safe" } as const;
const order = tool({ ...common, name: "order", execute: () => ToolResult.terminate("Order 7 is placed.") });
const bill = tool({ ...common, name: "bill", run: () => ToolResult.terminate({ bill: 8 }) });
const look = tool({ ...common, name: "look", execute: () => "nothing" });

/** The roles and texts of the last prompt that a model was shown. */
const lastPrompt = ({ requests }: ScriptedModel): readonly string[] =>
  (requests.at(-1)?.messages ?? []).map((message) => `${message.role}: ${ChatMessage.text(message)}`);

async function take(
  tools: readonly Tool[],
  script: Parameters<typeof scriptedModel>[0],
  options: Partial<Parameters<typeof agent>[0]> = {},
) {
  const model = scriptedModel(script);
  const lead = agent({ name: "lead", tools, ...options, model });
  await using t = testRuntime({ agents: [lead] });
  return { model, result: await t.run(lead, "go") };
}

test.each([
  [order, "Order 7 is placed."],
  [bill, '{"bill":8}'],
])("7.4 a result that terminates is the answer, without another model call", async (last, output) => {
  const { model, result } = await take([last], [call(last.name, {})]);
  expect(result).toMatchObject({ status: "completed", stopReason: "answer", output });
  expect(model.requests).toHaveLength(1);
});

test("7.4 results of a batch that all terminate are the answer, in the order of the calls", async () => {
  const { model, result } = await take([order, bill], [call("bill", {}, ["order", {}])]);
  expect(result.output).toBe('{"bill":8}\n\nOrder 7 is placed.');
  expect(model.requests).toHaveLength(1);
});

test("7.4 a batch with a result that does not terminate goes back to the model", async () => {
  const { model, result } = await take([order, look], [call("order", {}, ["look", {}]), say("both done")]);
  expect(result.output).toBe("both done");
  expect(model.requests).toHaveLength(2);
});

test("7.4 a value that only looks like a result of `terminate` does not end the turn", async () => {
  const foreign = Json.of(JSON.parse('{"value":"stop","terminate":true,"isError":false,"content":[]}'));
  const read = tool({ ...common, name: "read", execute: () => foreign });
  const { result } = await take([read], [call("read", {}), say("done")]);
  expect(result.output).toBe("done");
});

test("7.4 a value that JSON cannot hold is an error that the model is shown", async () => {
  const broken = tool({ ...common, name: "broken", execute: () => ToolResult.terminate(10n) });
  const { result } = await take([broken], [call("broken", {}), say("it failed")]);
  expect(result.output).toBe("it failed");
});

test("7.4 function middleware can let a turn end with a result", async () => {
  const last: FunctionMiddleware = {
    process: async (context, next) => {
      await next();
      if (context.result) context.result = { ...context.result, terminate: true };
    },
  };
  const { result } = await take([look], [call("look", {})], { middleware: { function: [last] } });
  expect(result.output).toBe("nothing");
});

test("7.4 a result that a guardrail withholds does not end the turn", async () => {
  const guardrail: Guardrail = { name: "strict", afterCall: () => ({ kind: "block", reason: "secret" }) };
  const { result } = await take([order], [call("order", {}), say("I cannot tell")], {
    guardrails: [guardrail],
  });
  expect(result.output).toBe("I cannot tell");
});

test("7.7 output guardrails check the answer of a tool, and the model may answer instead", async () => {
  const guardrail: Guardrail = {
    name: "strict",
    onOutput: ({ text }) =>
      text.includes("7") ? { kind: "block", reason: "no numbers" } : { kind: "allow" },
  };
  const { model, result } = await take([order], [call("order", {}), say("placed")], {
    guardrails: [guardrail],
  });
  expect(result.output).toBe("placed");
  expect(lastPrompt(model)).toEqual([
    "user: go",
    "assistant: ",
    "tool: ",
    "assistant: Order 7 is placed.",
    "user: That answer was blocked: no numbers. Answer again without it.",
  ]);
});

test("an answer of a tool must match the output schema, or the model answers", async () => {
  const output = z.object({ bill: z.number() });
  const matching = await take([bill], [call("bill", {})], { output });
  expect(matching.result.output).toEqual({ bill: 8 });
  const other = await take([order], [call("order", {}), say('{"bill":9}')], { output });
  expect(other.result.output).toEqual({ bill: 9 });
});
