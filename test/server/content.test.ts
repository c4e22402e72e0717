import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAnthropic } from "@ai-sdk/anthropic";
import { agent, AgentId, createRuntime, languageModel, type Agent, type RunHandle } from "reeve";
import { listen } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { fakeProvider } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "../cli/fake-terminal.ts";

const photo = randomBytes(5_000_000);
const report = randomBytes(1_500_000);
const maxCostUsd = 1.5;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-content-"));
  await writeFile(join(folder, "photo.png"), photo);
  await writeFile(join(folder, "report.pdf"), report);
});

afterAll(() => rm(folder, { recursive: true }));

/** A server whose agent `viewer` uses a model of the fake provider, and `lead` which asks it. */
async function stage() {
  const double = await fakeProvider({ script: () => ({ text: "seen" }) });
  const anthropic = createAnthropic({ baseURL: double.baseURL, apiKey: "test" });
  const model = languageModel(anthropic("claude-sonnet-4-5"));
  const viewer = agent({ name: "viewer", model });
  const lead: Agent = {
    id: AgentId.of("lead"),
    run: async (ctx, inbox) => {
      const message = await inbox.next();
      const input = { text: message?.text ?? "", files: message?.files ?? [] };
      return (await ctx.askOrThrow(viewer, input, { timeoutS: 60 })).text;
    },
  };
  const marks: Agent = {
    id: AgentId.of("marks"),
    run: async (ctx, inbox) => {
      await ctx.waitFor("go");
      await inbox.next();
      return {
        labels: { ...ctx.labels },
        said: inbox.takeSteering().map(({ text, data }) => [text, data ?? null]),
      };
    },
  };
  const runtime = createRuntime({ agents: [viewer, lead, marks], store: memoryStore() });
  const defaults = { budget: { maxCostUsd } };
  const server = await listen({ runtime, port: 0, defaults });
  const post = (path: string, body: object): Promise<Response> => {
    const headers = { "content-type": "application/json" };
    return fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  };
  return {
    double,
    runtime,
    viewer,
    lead,
    marks,
    server,
    post,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
      await double.close();
    },
  };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** Each provider request carried both files, whole, and the bill is below the cap. */
async function expectSeen({ double }: Stage, run: RunHandle): Promise<void> {
  expect(await run.result()).toMatchObject({ status: "completed", output: "seen" });
  const { requests, files, fileBytes } = double.bill.total();
  expect([requests, files, fileBytes]).toEqual([1, 2, photo.length + report.length]);
  const { costMicros } = await run.result();
  expect(costMicros).toBeGreaterThan(0);
  expect(costMicros).toBeLessThanOrEqual(maxCostUsd * 1_000_000);
}

const url = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString("base64")}`;

const fileParts = [
  { type: "file", mediaType: "image/png", filename: "photo.png", url: url("image/png", photo) },
  { type: "file", mediaType: "application/pdf", filename: "report.pdf", url: url("application/pdf", report) },
];

test("a 5 MB image and a PDF reach the provider through chat, under a cap", async () => {
  await using at = await stage();
  const parts = [{ type: "text", text: "describe" }, ...fileParts];
  const answer = await at.post("/chat/viewer", { id: "c", messages: [{ id: "m", role: "user", parts }] });
  expect(await answer.text()).toContain("seen");
  const { items } = await at.runtime.runs.list({}, { size: 1 });
  await expectSeen(at, at.runtime.run(items[0]?.treeId ?? ""));
});

test("a 5 MB image and a PDF reach the provider through the command line, under a cap", async () => {
  await using at = await stage();
  const terminal = new FakeTerminal({ folder, environment: { REEVE_URL: at.server.url } });
  const words = ["run", "viewer", "describe", "--id", "t", "--file", "photo.png", "--file", "report.pdf"];
  expect(await main([...words, "--data", '{"a":1}', "--max-cost", String(maxCostUsd)], terminal)).toBe(0);
  await expectSeen(at, at.runtime.run("t"));
});

test("a 5 MB image and a PDF reach the provider through ask, under a cap", async () => {
  await using at = await stage();
  const files = [
    { mediaType: "image/png", name: "photo.png", data: photo },
    { mediaType: "application/pdf", name: "report.pdf", data: report },
  ];
  const run = await at.runtime.start(at.lead, { text: "describe", files }, { budget: { maxCostUsd } });
  await expectSeen(at, run);
});

test("a cap that a PDF could break refuses the call, and no file is sent", async () => {
  await using at = await stage();
  const files = [{ mediaType: "application/pdf", data: report }];
  const run = await at.runtime.start(at.viewer, { files }, { budget: { maxCostUsd: 0.1 } });
  expect(await run.result()).toMatchObject({ stopReason: "budget.cost" });
  expect(at.double.bill.total().files).toBe(0);
});

test("a file by address is refused: nothing is fetched for a caller", async () => {
  await using at = await stage();
  const part = { type: "file", mediaType: "image/png", url: "http://169.254.169.254/latest" };
  const answer = await at.post("/chat/viewer", {
    id: "c",
    messages: [{ id: "m", role: "user", parts: [part] }],
  });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("messages.parts.url: must be a data: URL");
  const start = await at.post("/runs", {
    agent: "viewer",
    input: { files: [{ mediaType: "image/png", url: "x" }] },
  });
  expect(start.status).toBe(400);
});

test.each([
  ["a file that is not base64", { mediaType: "image/png", data: "???" }, 400],
  ["a type that is not allowed", { mediaType: "application/x-msdownload", data: "AAAA" }, 400],
  [
    "a file over the limit",
    { mediaType: "image/png", data: Buffer.alloc(20_000_001).toString("base64") },
    413,
  ],
  ["a body over the limit", { mediaType: "image/png", data: "A".repeat(34_000_000) }, 413],
])("%s is refused with its limit", async (_, file, status) => {
  await using at = await stage();
  const answer = await at.post("/runs", { agent: "viewer", input: { text: "see", files: [file] } });
  expect(answer.status).toBe(status);
  expect(JSON.stringify(await answer.json())).toMatch(/base64|allowed are|at most/);
});

test("only routes that take files take a large body", async () => {
  await using at = await stage();
  const body = { name: "go", id: "1", data: "x".repeat(1_100_000) };
  expect((await at.post("/runs/none/signal", body)).status).toBe(413);
});

test("start, steer and signal carry labels over HTTP, and only add them", async () => {
  await using at = await stage();
  const start = { agent: "marks", input: { data: { n: 1 } }, id: "t", labels: { untrusted: true } };
  expect((await at.post("/runs", start)).status).toBe(202);
  const steer = { data: { n: 2 }, id: "s", labels: { private: true, untrusted: false } };
  expect((await at.post("/runs/t/steer", steer)).status).toBe(200);
  const signal = { name: "go", id: "g", labels: { untrusted: false } };
  expect((await at.post("/runs/t/signal", signal)).status).toBe(200);
  expect((await at.runtime.run("t").result()).output).toEqual({
    labels: {
      untrusted: true,
      private: true,
      sources: [
        { kind: "input", name: "message", runId: "t~0", stepId: null, untrusted: true, private: false },
        { kind: "input", name: "steer", runId: "t~0", stepId: null, untrusted: false, private: true },
      ],
    },
    said: [["", { n: 2 }]],
  });
  expect((await at.post("/runs/t/steer", { id: "x", labels: { trusted: true } })).status).toBe(400);
});

test("steer takes files and data on the command line, and a file of unknown type is refused", async () => {
  await using at = await stage();
  const run = await at.runtime.start(at.marks, "go", { id: "t" });
  const reeve = (...words: readonly string[]): Promise<number> =>
    main(words, new FakeTerminal({ folder, environment: { REEVE_URL: at.server.url } }));
  expect(await reeve("steer", "t", "see", "--file", "photo.png", "--data", '{"n":3}')).toBe(0);
  expect(await reeve("steer", "t", "see", "--file", "photo.exe")).toBe(2);
  expect(await reeve("steer", "t", "see", "--file", "missing.png")).toBe(2);
  await run.signal("go");
  expect((await run.result()).output).toMatchObject({ said: [["see", { n: 3 }]] });
});
