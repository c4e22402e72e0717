import { hash } from "node:crypto";
import { agent, ChatMessage, createRuntime, type EphemeralSource, type Json, type RunResult } from "reeve";
import { type Engine } from "reeve/engine";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";

const canary = "heron";

const page = (text: string, rest: Partial<EphemeralSource> = {}): EphemeralSource => ({
  name: "browser",
  getState: () => text,
  ...rest,
});

/** An engine that keeps the records of all steps. */
function recordingEngine(): { readonly engine: Engine; readonly records: readonly Json[] } {
  const engine = local();
  const records: Json[] = [];
  const define: Engine["define"] = (program) =>
    engine.define({
      ...program,
      run: (primitives) =>
        program.run({
          ...primitives,
          step: (name, run) =>
            primitives.step(name, async (io) => {
              const record = await run(io);
              records.push(record);
              return record;
            }),
        }),
    });
  return { engine: { ...engine, define }, records };
}

test("the journal has the labels of ephemeral state, and nothing of its content", async () => {
  const { engine, records } = recordingEngine();
  const writer = agent({
    name: "writer",
    model: scriptedModel([say("done")]),
    ephemeral: [page(canary, { sensitivity: "private" })],
  });
  await using runtime = createRuntime({ agents: [writer], engine });
  await (await runtime.start(writer, "go")).result();
  const journal = JSON.stringify(records);
  expect(journal).toContain("done");
  expect(journal).not.toContain(canary);
  expect(records[0]).toMatchObject({
    shown: { untrusted: true, private: true, sources: [{ kind: "input", name: "browser" }] },
  });
});

test("the manifest of a call has the hash and the size of ephemeral state, and the prompt is built again without it", async () => {
  const store = memoryStore();
  const { manifests } = store;
  const texts: string[] = [];
  const put = manifests.put.bind(manifests);
  manifests.put = (partition, record, given) => {
    texts.push(JSON.stringify(record), ...given.map(({ text }) => text));
    return put(partition, record, given);
  };
  const model = scriptedModel([say("done")]);
  const writer = agent({ name: "writer", model, ephemeral: [page(canary)] });
  await using runtime = createRuntime({ agents: [writer], store });
  const run = await runtime.start(writer, "go");
  await run.result();
  const { items } = await runtime.steps(run.runId);
  const { prompt, isEqual } = await runtime.prompt(items[0]?.stepId ?? "");
  expect(prompt).toMatchObject([
    { role: "user", content: { role: "user" } },
    { role: "user", content: null, missing: "not-stored", notStored: "ephemeral" },
  ]);
  const sent = JSON.stringify(model.requests[0]?.messages[1]);
  expect(prompt[1]).toMatchObject({ hash: hash("sha256", sent, "base64url"), size: sent.length });
  expect(isEqual).toBe(true);
  expect(texts.length).toBeGreaterThan(0);
  expect(texts.join()).not.toContain(canary);
});

test("chat middleware is not shown ephemeral state", async () => {
  const seen: string[] = [];
  const model = scriptedModel([say("done")]);
  const writer = agent({
    name: "writer",
    model,
    ephemeral: [page(canary)],
    middleware: {
      chat: [
        {
          process: async (context, next) => {
            seen.push(...context.messages.map(ChatMessage.text));
            context.messages = [...context.messages];
            await next();
          },
        },
      ],
    },
  });
  await using runtime = createRuntime({ agents: [writer] });
  await (await runtime.start(writer, "go")).result();
  expect(seen).toEqual(["go"]);
  expect(model.requests[0]).toMatchObject({ stable: [1] });
  expect(model.requests[0]?.messages.map(ChatMessage.text)).toEqual(["go", canary]);
});

/** Runs an agent under a small budget, with a page open. */
async function runBeside(text: string): Promise<RunResult> {
  const model = scriptedModel([say("done")]);
  const writer = agent({ name: "writer", model, maxOutputTokens: 100, ephemeral: [page(text)] });
  await using runtime = createRuntime({ agents: [writer] });
  return await (await runtime.start(writer, "go", { budget: { maxTokens: 2_000 } })).result();
}

test("the size of ephemeral state is reserved", async () => {
  expect(await runBeside("short")).toMatchObject({ status: "completed" });
  expect(await runBeside("x".repeat(3_000))).toMatchObject({
    status: "landed",
    error: { code: "budget-exhausted" },
  });
});

test("the size that a turn leaves to the next one is that of a prompt without ephemeral state", async () => {
  const store = memoryStore();
  const writer = agent({ name: "writer", model: scriptedModel([say("done")]), ephemeral: [page(canary)] });
  await using runtime = createRuntime({ agents: [writer], store });
  const talk = await runtime.sessions.create(writer);
  await talk.invoke("one");
  await talk.invoke("two");
  const entries = await store.sessions.entries(
    { tenantId: null },
    { id: talk.id, userId: null },
    { after: null, limit: 10 },
  );
  expect(entries.flatMap(({ told }) => told?.messages ?? [])).toEqual([1, 3]);
});

test("a source's timeout must be a duration", () => {
  const options = { name: "writer", model: scriptedModel([say("done")]) };
  expect(() => agent({ ...options, ephemeral: [page("", { timeoutMs: -1 })] })).toThrow("timeoutMs");
});
