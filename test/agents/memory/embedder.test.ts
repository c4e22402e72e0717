import { createOpenAI } from "@ai-sdk/openai";
import { agent, createRuntime, embeddingModel, memory, UserId, type Embedder } from "reeve";
import { MemoryOwner, type Keys } from "reeve/store";
import { memoryStore } from "reeve/stores/memory";
import { sqliteStore } from "reeve/stores/sqlite";
import { sqliteVectorStore } from "reeve/stores/sqlite-vec";
import { call, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { openDouble } from "../../testing/real-providers.ts";

const price = { input: 20_000 };

/** An embedder of one dimension more than it states. */
const lying: Embedder = {
  id: "lying",
  dimensions: 1,
  price: null,
  embed: async (texts) => ({ vectors: texts.map(() => [1, 2]), inputTokens: 1 }),
};

const ada = { user: "ada" };

test("a fact is found by meaning through a provider's embeddings, and the charge equals the provider's bill", async () => {
  const double = await openDouble();
  const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "secret" });
  const embedder = embeddingModel(openai.embedding("text-embedding-3-small"), { dimensions: 256, price });
  const model = scriptedModel(
    [
      call("remember", { key: "food", value: "allergic to peanuts" }),
      say("Noted."),
      call("recall", { query: "peanut allergies" }),
      say("Yes."),
    ],
    { price: { input: 0, output: 0 } },
  );
  const lead = agent({ name: "lead", model, extensions: [memory({ facts: true, embedder })] });
  await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
  const first = await (await runtime.start(lead, "go", ada)).result();
  const second = await (await runtime.start(lead, "again", ada)).result();
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain("allergic to peanuts");
  expect(double.bill.entries.map(({ wire, model: by }) => `${wire} ${by}`)).toEqual([
    "openai-embeddings text-embedding-3-small",
    "openai-embeddings text-embedding-3-small",
  ]);
  const billed = double.bill.costMicros({ "text-embedding-3-small": { ...price, output: 0 } });
  expect(first.costMicros + second.costMicros).toBe(billed);
  expect(first.usage.input).toBe(10 + 10 + (double.bill.entries[0]?.inputTokens ?? 0));
});

test("a provider with small batches is called several times, and its refusal is reported", async () => {
  const sizes: number[] = [];
  const embedder = embeddingModel(
    {
      specificationVersion: "v4",
      provider: "own",
      modelId: "few",
      maxEmbeddingsPerCall: 2,
      supportsParallelCalls: false,
      doEmbed: async ({ values }) => {
        sizes.push(values.length);
        return { embeddings: values.map((text) => [text.length]), usage: { tokens: 3 }, warnings: [] };
      },
    },
    { dimensions: 1, price: null },
  );
  const { signal } = new AbortController();
  expect(await embedder.embed(["a", "bb", "ccc"], { signal })).toEqual({
    vectors: [[1], [2], [3]],
    inputTokens: 6,
  });
  expect(sizes).toEqual([2, 1]);
  await expect(embedder.embed(["a"], { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
    "enough",
  );
  const double = await openDouble();
  const openai = createOpenAI({ baseURL: double.baseURL, apiKey: "secret" });
  const real = embeddingModel(openai.embedding("text-embedding-3-small"), { dimensions: 256, price });
  await expect(real.embed([""], { signal })).rejects.toMatchObject({ code: "model" });
});

test("an invalid embedder is refused when it is created", () => {
  const model = createOpenAI({ apiKey: "secret" }).embedding("e");
  expect(() => embeddingModel(model, { dimensions: 0, price })).toThrow(RangeError);
  expect(() => embeddingModel(model, { dimensions: 1, price: { input: -1 } })).toThrow("-1");
});

test("an invalid result of an embedder is reported, and the fact is found by its terms", async () => {
  const failures: string[] = [];
  const model = scriptedModel([
    call("remember", { key: "food", value: "allergic to peanuts" }),
    call("recall", { query: "allergic" }),
    say("Peanuts."),
  ]);
  const lead = agent({ name: "lead", model, extensions: [memory({ facts: true, embedder: lying })] });
  await using runtime = createRuntime({
    agents: [lead],
    store: memoryStore(),
    log: ({ diagnostic }) => failures.push(`${diagnostic.source}: ${diagnostic.message}`),
  });
  expect((await (await runtime.start(lead, "go", ada)).result()).status).toBe("completed");
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain("allergic to peanuts");
  expect(failures).toEqual([
    "embedder lying: embedder lying returned a vector of 2 numbers, not of 1",
    "embedder lying: embedder lying returned a vector of 2 numbers, not of 1",
  ]);
});

const keys: Keys = { getRing: async () => [{ id: "k", secret: new Uint8Array(32) }] };
const one: Embedder = {
  ...lying,
  id: "one",
  embed: async (texts) => ({ vectors: texts.map(() => [1]), inputTokens: 1 }),
};

test("with a sealed store, vectors are kept in the vector store and removed with their fact", async () => {
  const model = scriptedModel([
    call("remember", { key: "food", value: "allergic to peanuts" }),
    say("Noted."),
    call("recall", { query: "nuts" }),
    say("Yes."),
    call("forget", { key: "food" }),
    say("Gone."),
  ]);
  const lead = agent({ name: "lead", model, extensions: [memory({ facts: true, embedder: one })] });
  await using store = await sqliteStore({ path: ":memory:" });
  await using vectors = await sqliteVectorStore({ path: ":memory:" });
  const kept = () =>
    vectors.list({ tenantId: null }, MemoryOwner.user(UserId.of("ada")), { after: null, limit: 9 });
  await using t = testRuntime({ agents: [lead], store, vectors, keys });
  await t.run(lead, "go", ada);
  expect(await kept()).toMatchObject([{ embedder: "one", vector: [1] }]);
  await t.run(lead, "what?", ada);
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain("allergic to peanuts");
  await t.run(lead, "forget it", ada);
  expect(await kept()).toEqual([]);
});

test("with an embedder but no vector store, the call fails and names the remedy", async () => {
  const model = scriptedModel([call("remember", { key: "food", value: "nuts" }), say("Hm.")]);
  const lead = agent({ name: "lead", model, extensions: [memory({ facts: true, embedder: one })] });
  await using store = await sqliteStore({ path: ":memory:" });
  await using t = testRuntime({ agents: [lead], store, keys });
  await t.run(lead, "go", ada);
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain("createRuntime({ vectors })");
});

test("middleware may call an embedder: it is charged with its step, and is not a turn", async () => {
  const found: (readonly number[])[] = [];
  const priced: Embedder = { ...one, price: { input: 1_000_000, output: 0 } };
  const model = scriptedModel([say("Done.")]);
  const lead = agent({
    name: "lead",
    model,
    budget: { maxTurns: 2 },
    middleware: {
      chat: [
        {
          process: async ({ scope }, next) => {
            found.push(...(await scope.embed(priced, ["a", "b"])));
            await next();
          },
        },
      ],
    },
  });
  await using t = testRuntime({ agents: [lead] });
  expect(await t.run(lead, "go")).toMatchObject({ status: "completed", costMicros: 1 + 15 });
  expect(found).toEqual([[1], [1]]);
});
