import { agent, createRuntime, tool } from "reeve";
import { serverApp } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { readAll } from "../runtime/read-all.ts";
import { recorder } from "./recorder.ts";

const newLead = () => agent({ name: "lead", model: scriptedModel([say("done")]) });

test("a runtime with telemetry makes a trace of every tree, even if it started over HTTP", async () => {
  const { telemetry, spans } = recorder();
  const lead = newLead();
  await using runtime = createRuntime({ agents: [lead], telemetry });
  await readAll((await runtime.start(lead, "go", { id: "one" })).events());
  const app = serverApp({ runtime, auth: "none" });
  const headers = { host: "localhost", "content-type": "application/json" };
  const body = JSON.stringify({ agent: "lead", input: "go", id: "two" });
  const response = await app.request("http://localhost/runs", { method: "POST", headers, body });
  expect(response.status).toBe(202);
  const workflows = async (): Promise<number> =>
    (await spans()).filter(({ name }) => name === "invoke_workflow lead").length;
  await expect.poll(workflows).toBe(2);
});

const take = (): never => {
  throw new Error("no collector");
};

test("telemetry that throws does not prevent events from being stored", async () => {
  const lead = newLead();
  await using runtime = createRuntime({ agents: [lead], telemetry: { take } });
  const run = await runtime.start(lead, "go");
  expect((await readAll(run.events())).at(-1)?.type).toBe("run.end");
  await expect.poll(async () => (await runtime.runs.tree(run.treeId))[0]?.status).toBe("completed");
});

const look = tool({
  name: "look",
  description: "Looks something up",
  input: z.object({ word: z.string() }),
  risk: "safe",
  execute: ({ word }) => `found ${word}`,
});

const newWriter = (options: { readonly retention?: "none" } = {}) =>
  agent({
    name: "writer",
    instructions: "Be brief.",
    tools: [look],
    model: scriptedModel([call("look", { word: "kettle" }), say("done")]),
    ...options,
  });

/** The attributes with content of the spans of one run. */
async function contentSpans(
  lead: ReturnType<typeof newWriter>,
  { captureContent }: { readonly captureContent: boolean },
): Promise<Record<string, Record<string, unknown>>> {
  const { telemetry, spans } = recorder({ captureContent });
  await using runtime = createRuntime({ agents: [lead], store: memoryStore(), telemetry });
  await (await runtime.start(lead, "find the kettle")).result();
  const ended = async (): Promise<boolean> =>
    (await spans()).some(({ name }) => name === "invoke_workflow writer");
  await expect.poll(ended).toBe(true);
  const found = (await spans()).filter(({ name }) => /^(chat|execute_tool)/.test(name));
  const content = found
    .toSorted((one, other) => one.began - other.began || one.ended - other.ended)
    .map(({ name, attributes }, index) => [
      `${index} ${name.split(" ")[0] ?? ""}`,
      Object.fromEntries(
        Object.entries(attributes)
          .filter(([key]) => /messages|instructions|definitions|arguments|result$/.test(key))
          .map(([key, value]) => [key, JSON.parse(String(value))]),
      ),
    ]);
  return Object.fromEntries(content);
}

test("with captureContent, spans have requests and answers, by the names of the conventions", async () => {
  const [first, tried, second] = Object.values(await contentSpans(newWriter(), { captureContent: true }));
  const asked = { role: "user", parts: [{ type: "text", content: "find the kettle" }] };
  const called = { type: "tool_call", id: expect.any(String), name: "look", arguments: { word: "kettle" } };
  expect(first).toEqual({
    "gen_ai.system_instructions": [{ type: "text", content: "Be brief." }],
    "gen_ai.tool.definitions": [expect.objectContaining({ name: "look" })],
    "gen_ai.input.messages": [asked],
    "gen_ai.output.messages": [{ role: "assistant", parts: [called], finish_reason: "tool_call" }],
  });
  expect(tried).toMatchObject({ "gen_ai.tool.call.arguments": { word: "kettle" } });
  expect(JSON.stringify(tried?.["gen_ai.tool.call.result"])).toContain("found kettle");
  expect(second?.["gen_ai.input.messages"]).toEqual([
    asked,
    { role: "assistant", parts: [called] },
    {
      role: "tool",
      parts: [
        {
          type: "tool_call_response",
          id: expect.any(String),
          response: [{ type: "text", content: "found kettle" }],
        },
      ],
    },
  ]);
  expect(second?.["gen_ai.output.messages"]).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "done" }], finish_reason: "stop" },
  ]);
});

test("without captureContent no span has content", async () => {
  const spans = await contentSpans(newWriter(), { captureContent: false });
  expect(Object.keys(spans)).toHaveLength(3);
  expect(Object.values(spans)).toEqual([{}, {}, {}]);
});

test("the content of a run with retention none is in no span", async () => {
  const spans = await contentSpans(newWriter({ retention: "none" }), { captureContent: true });
  expect(JSON.stringify(spans)).not.toContain("kettle");
});
