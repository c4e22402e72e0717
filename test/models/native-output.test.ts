import { agent, createRuntime, fallback, languageModel } from "reeve";
import { scriptedModel, say } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ProviderRequest } from "../../src/testing/fake-provider/index.ts";
import { openDouble, realModel } from "../testing/real-providers.ts";
import { price, runOnWire } from "./run-on-wire.ts";

const strict = z.object({ year: z.number(), place: z.string() });
const loose = z.object({ year: z.number(), place: z.string().optional() });
const answer = '{"year": 1987, "place": "Ely"}';

const formats = {
  chat: (body: ProviderRequest["body"]) => body["response_format"],
  responses: (body: ProviderRequest["body"]) => body["text"],
  anthropic: (body: ProviderRequest["body"]) => body["output_config"],
} as const;

test.each([
  ["chat", { type: "json_schema", json_schema: { strict: true, name: "answer" } }],
  ["responses", { format: { type: "json_schema", strict: true, name: "answer" } }],
  ["anthropic", { format: { type: "json_schema" } }],
] as const)("%s gets the schema in the request and not in the prompt", async (name, field) => {
  const { result, requests } = await runOnWire(name, { output: strict, instructions: "Be exact." }, [answer]);
  expect(result).toMatchObject({ status: "completed", output: { year: 1987, place: "Ely" } });
  const [request] = requests;
  expect(request && formats[name](request.body)).toMatchObject(field);
  expect(request?.outputSchema).toMatchObject({ additionalProperties: false, required: ["year", "place"] });
  expect(request?.system).toBe("Be exact.");
});

test("a schema with optional properties is a hint for OpenAI, which would refuse it as a rule", async () => {
  const { requests } = await runOnWire("responses", { output: loose }, [answer]);
  expect(requests[0]?.body["text"]).toMatchObject({ format: { strict: false } });
});

test("the prompt has the schema if the provider takes none or the schema is not an object", async () => {
  for (const [name, output, text] of [
    ["compatible", strict, answer],
    ["responses", z.array(z.number()), "[1987]"],
  ] as const) {
    const { result, requests } = await runOnWire(name, { output }, [text]);
    expect(result.status).toBe("completed");
    expect(requests[0]?.outputSchema).toBeNull();
    expect(requests[0]?.system).toContain("It must match this JSON Schema");
  }
});

test("an invalid answer is repaired with the schema in the prompt, even after a fallback to another model", async () => {
  const { requests } = await runOnWire("chat", { output: strict }, ["about 1987", answer]);
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain("It must match this JSON Schema");
  const spare = scriptedModel([say("about 1987"), say(answer)], { id: "spare", price });
  const double = await openDouble({ script: () => ({ fault: "not-found" }) });
  const model = languageModel(realModel("chat", double), { price });
  const worker = agent({
    name: "worker",
    model,
    output: strict,
    middleware: { chat: [fallback([spare])] },
  });
  await using runtime = createRuntime({ agents: [worker] });
  const { output } = await (await runtime.start(worker, "When?")).result();
  expect(output).toEqual({ year: 1987, place: "Ely" });
});

test.each(["chat", "responses", "anthropic"] as const)(
  "%s never bills more for a schema than was reserved",
  async (name) => {
    const fields = Array.from({ length: 40 }, (_, index) => [
      `field_${index}`,
      z.string().describe("日本語 🦆"),
    ]);
    const wide = z.object(Object.fromEntries(fields));
    const { result, double } = await runOnWire(name, { output: wide }, ["{}"]);
    const { inputTokens } = double.bill.entries[0] ?? { inputTokens: 0 };
    expect(inputTokens).toBeGreaterThan(400);
    expect(result.error?.code).toBe("output");
    const { requests } = await runOnWire(name, { output: wide, budget: { maxTokens: 700 } }, ["{}"]);
    expect(requests).toHaveLength(0);
  },
);

test("an output schema that cannot be written as JSON Schema is refused where the agent is defined", () => {
  const model = scriptedModel([say("x")]);
  expect(() => agent({ name: "writer", model, output: z.object({ at: z.date() }) })).toThrow(
    "the output schema of agent writer cannot be written as JSON Schema: Date cannot be represented",
  );
});
