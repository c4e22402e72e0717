import { agent, createRuntime, languageModel } from "reeve";
import { expect, test } from "vitest";
import type { ProviderRequest } from "../../src/testing/fake-provider/index.ts";
import { openDouble, realModel } from "../testing/real-providers.ts";
import { price, runOnWire } from "./run-on-wire.ts";
import { look } from "../agents/look-tool.ts";

test.each([
  ["chat", { temperature: 0.2, top_p: 0.9, seed: 7, stop: ["END"], user: "ada", tool_choice: "required" }],
  ["anthropic", { temperature: 0.2, stop_sequences: ["END"], tool_choice: { type: "any" } }],
] as const)("settings, providerOptions and toolChoice of an agent reach %s", async (name, fields) => {
  const { requests } = await runOnWire(
    name,
    {
      tools: [look],
      toolChoice: "required",
      settings: { temperature: 0.2, ...(name === "chat" && { topP: 0.9, seed: 7 }), stopSequences: ["END"] },
      providerOptions: { openai: { user: "ada" } },
    },
    ["done"],
  );
  expect(requests[0]?.body).toMatchObject(fields);
});

test("the settings of an agent override its model's settings", async () => {
  const requests: ProviderRequest[] = [];
  const double = await openDouble({ script: (request) => (requests.push(request), { text: "done" }) });
  const settings = { temperature: 1, topP: 0.5 };
  const providerOptions = { openai: { user: "all", store: true } };
  const model = languageModel(realModel("chat", double), { price, settings, providerOptions });
  const worker = agent({
    name: "worker",
    model,
    settings: { temperature: 0 },
    providerOptions: { openai: { user: "ada" } },
  });
  await using runtime = createRuntime({ agents: [worker] });
  await (await runtime.start(worker, "go")).result();
  expect(requests[0]?.body).toMatchObject({ temperature: 0, top_p: 0.5, user: "ada", store: true });
});

/** Returns the choice of tools in each request of a run. */
async function choicesOf(toolChoice: "required" | "none" | { tool: string }): Promise<unknown[]> {
  const choices: unknown[] = [];
  const double = await openDouble({
    script: ({ body }) =>
      choices.push(body["tool_choice"] ?? null) === 1
        ? { toolCalls: [{ name: "look", input: {} }] }
        : { text: "done" },
  });
  const model = languageModel(realModel("chat", double), { price });
  const worker = agent({ name: "worker", model, tools: [look], toolChoice });
  await using runtime = createRuntime({ agents: [worker] });
  await (await runtime.start(worker, "go")).result();
  return choices;
}

test("toolChoice required or a named tool holds for the first call of a turn, none for all calls", async () => {
  expect(await choicesOf("required")).toEqual(["required", null]);
  expect(await choicesOf({ tool: "look" })).toEqual([{ type: "function", function: { name: "look" } }, null]);
  expect(await choicesOf("none")).toEqual(["none", "none"]);
});

test("reasoning is an effort for OpenAI, and for Anthropic a budget inside the output that was granted", async () => {
  const options = { settings: { reasoning: "high" }, maxOutputTokens: 5_000 } as const;
  const openai = await runOnWire("responses", options, ["done"], "gpt-5");
  expect(openai.requests[0]?.body).toMatchObject({ reasoning: { effort: "high" }, max_output_tokens: 5_000 });
  const { requests } = await runOnWire("anthropic", options, ["done"]);
  expect(requests[0]?.body).toMatchObject({
    thinking: { type: "enabled", budget_tokens: 3_000 },
    max_tokens: 5_000,
  });
  const off = await runOnWire("anthropic", { ...options, settings: { reasoning: "none" } }, ["done"]);
  expect(off.requests[0]?.body).toMatchObject({ thinking: { type: "disabled" }, max_tokens: 5_000 });
});

test("an option of unknown cost is refused under a cap, even if the agent sets it", async () => {
  const { result, requests } = await runOnWire("chat", { providerOptions: { openai: { prediction: {} } } }, [
    "x",
  ]);
  expect(result).toMatchObject({
    status: "failed",
    error: { code: "budget-exhausted", reason: "unbounded" },
  });
  expect(requests).toHaveLength(0);
});
