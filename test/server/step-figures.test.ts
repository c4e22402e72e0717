import { agent, type ChatMiddleware, Json, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { codeOf } from "./ask.ts";
import { TestServer } from "./test-server.ts";

const read = tool({
  name: "read_page",
  description: "reads a page",
  input: z.object({ url: z.string() }),
  risk: "safe",
  origin: "web",
  egress: false,
  execute: async () => "a secret page",
});
const price = { input: 3_000_000, output: 15_000_000, cachedInput: 300_000, request: 7 };
const usage = { input: 1_000, output: 100, cachedInput: 400 };
const [first, last] = [call("read_page", { url: "https://example.com" }), say("a secret answer", usage)];
const model = scriptedModel([{ ...first, usage }, last], { price });
/** Gives the second call another system prompt. */
const addDay: ChatMiddleware = {
  process: async (context, next) => {
    const isSecond = context.messages.some(({ role }) => role === "tool");
    if (isSecond) context.systemInstructions = "A secret rule for Tuesday.";
    await next();
  },
};
const reader = agent({
  name: "reader",
  instructions: "A secret rule.",
  model,
  tools: [read],
  middleware: { chat: [addDay] },
});

let site: TestServer;
beforeAll(async () => {
  site = await TestServer.open({ agents: [reader] });
  const run = await site.runtime.start(reader, "the secret task", {
    id: "t",
    tenant: "acme",
    user: "dana",
  });
  await run.result();
  for await (const _ of run.events());
});
afterAll(() => site[Symbol.asyncDispose]());

interface ShownPart {
  readonly role: string;
  readonly content: Json;
  readonly same?: true;
}

interface LogPage {
  readonly items: readonly { readonly seq: number; readonly type: string }[];
  readonly next: string | null;
  readonly seq: number;
}

const steps = (path: string): string => `/runs/t~0/steps/${path}`;

test("a comparison of two steps leaves out their common parts, and has the replaced parts", async () => {
  const { json } = await site.get(steps("t~0:model:3?diff=t~0:model:1"), { key: site.keys.acme.content });
  const { prompt, replaced } = Json.as<Readonly<Record<string, readonly ShownPart[]>>>(json);
  expect(prompt?.map(({ role, same = false, content }) => [role, same, content !== null])).toEqual([
    ["system", false, true],
    ["tools", true, false],
    ["user", true, false],
    ["assistant", false, true],
    ["tool", false, true],
  ]);
  expect(JSON.stringify(prompt?.[0]?.content)).toContain("A secret rule for Tuesday.");
  expect(
    replaced?.map(({ role, content }) => [role, JSON.stringify(content).includes("A secret rule.")]),
  ).toEqual([["system", true]]);
});

test("each part has its sender and its labels", async () => {
  const { json } = await site.get(steps("t~0:model:3"), { key: site.keys.acme.content });
  expect(json).toMatchObject({
    prompt: [
      { role: "system" },
      { role: "tools" },
      { role: "user", from: { kind: "message", name: "dana" } },
      { role: "assistant" },
      { role: "tool", labels: { untrusted: true, private: false } },
    ],
    isEqual: true,
  });
  const page = await site.get(steps("t~0:tool:2"), { key: site.keys.acme.content });
  expect(page.json).toMatchObject({
    answer: [{ role: "result", labels: { untrusted: true, private: false } }],
  });
});

test("the figures of a step have its bill by line and its parts, and no content", async () => {
  const { json, text } = await site.get(steps("t~0:model:3/figures?diff=t~0:model:1"), {
    key: site.keys.acme.read,
  });
  expect(json).toMatchObject({
    stepId: "t~0:model:3",
    content: "recorded",
    bill: {
      lines: [
        { name: "input", amount: 600, rateMicros: 3_000_000, costMicros: 1_800 },
        { name: "input, cached", amount: 400, rateMicros: 300_000, costMicros: 120 },
        { name: "output", amount: 100, rateMicros: 15_000_000, costMicros: 1_500 },
        { name: "request", amount: 1, rateMicros: 7, costMicros: 7 },
      ],
      tokens: 1_100,
      costMicros: 3_427,
    },
    prompt: [{ role: "system" }, { role: "tools", same: true }, { same: true }, {}, {}],
    replaced: [{ role: "system" }],
  });
  expect(text).not.toMatch(/secret|hash|"content":(?!"recorded")/i);
});

test("the sum of a bill equals the tree's booked cost", async () => {
  const key = site.keys.acme.read;
  const { json } = await site.get("/runs/t/log?type=budget.settled", { key });
  expect(json).toMatchObject({ items: [{ costMicros: 3_427 }, { costMicros: 3_427 }] });
});

test("a step is compared with steps of its own run only", async () => {
  const key = site.keys.acme.admin;
  const paths = ["t~0:model:3?diff=t~1:model:1", "t~0:model:3/figures?diff=t~0:model:99"];
  const codes = await Promise.all(paths.map(async (path) => codeOf(await site.get(steps(path), { key }))));
  expect(codes).toEqual(["not-found", "not-found"]);
  expect((await site.get(steps("t~0:model:3?diff=x"), { key })).status).toBe(400);
});

test("the log has the events of a tree in pages, of one run, of some types", async () => {
  const key = site.keys.acme.read;
  const seqs = async (query: string): Promise<{ seqs: number[]; next: string | null; seq: number }> => {
    const { json } = await site.get(`/runs/t~0/log${query}`, { key });
    const { items, next, seq } = Json.as<LogPage>(json);
    return { seqs: items.map((event) => event.seq), next, seq };
  };
  const all = await seqs("");
  expect(all.seqs.length).toBeGreaterThan(10);
  expect(all).toMatchObject({ next: null, seq: all.seqs.length });
  const found: number[] = [];
  for (let after: string | null = "0"; after !== null;) {
    const page: Awaited<ReturnType<typeof seqs>> = await seqs(`?size=3&after=${after}&own=true`);
    expect(page.seqs.length).toBeLessThanOrEqual(3);
    found.push(...page.seqs);
    after = page.next;
  }
  expect(found).toEqual(all.seqs);
  const { json } = await site.get("/runs/t/log?type=budget,run.end", { key });
  const { items } = Json.as<LogPage>(json);
  expect(items.map(({ type }) => type)).toEqual([
    "budget.reserved",
    "budget.settled",
    "budget.reserved",
    "budget.settled",
    "run.end",
  ]);
  expect((await site.get("/runs/t/log?type=nothing", { key })).status).toBe(400);
});
