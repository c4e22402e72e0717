import { agent, tool } from "reeve";
import { type StepPrompt } from "#runtime";
import { createClient } from "reeve/client";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { codeOf } from "./ask.ts";
import { TestServer } from "./test-server.ts";

const look = tool({
  name: "look",
  description: "looks something up",
  input: z.object({ q: z.string() }),
  risk: "safe",
  execute: async () => {
    // Steps are listed by the time at which they began. In one millisecond, by their name.
    const begun = Date.now();
    await vi.waitUntil(() => Date.now() > begun, { interval: 1 });
    return "a secret result";
  },
});
const model = scriptedModel([call("look", { q: "secret question" }), say("a secret answer")]);
const reader = agent({ name: "reader", instructions: "A secret prompt.", model, tools: [look] });

let site: TestServer;
beforeAll(async () => {
  site = await TestServer.open({ agents: [reader] });
  const run = await site.runtime.start(reader, "the secret input", { id: "t", tenant: "acme" });
  await run.result();
  for await (const _ of run.events());
});
afterAll(() => site[Symbol.asyncDispose]());

test("a key that may read lists the steps of a run without content", async () => {
  const { status, json, text } = await site.get("/runs/t/steps?size=2", { key: site.keys.acme.read });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    items: [
      { stepId: "t~0:model:1", content: "recorded", manifest: { kind: "model", finish: "tool-calls" } },
      { content: "recorded", manifest: { kind: "tool", name: "look", prompt: [{ role: "input" }] } },
    ],
    next: expect.any(String),
  });
  expect(text).not.toMatch(/secret|hash/i);
});

test("the content of a step needs the scope `content` or `admin`", async () => {
  const path = `/runs/t/steps/${encodeURIComponent("t~0:model:1")}`;
  for (const scope of ["read", "run", "approve"] as const)
    expect(codeOf(await site.get(path, { key: site.keys.acme[scope] }))).toBe("forbidden");
  for (const scope of ["content", "admin"] as const) {
    const { json } = await site.get(path, { key: site.keys.acme[scope] });
    expect(json).toMatchObject({ isEqual: true });
    expect(JSON.stringify(json)).toContain("the secret input");
  }
});

test("a step of another tenant, another run or no step is not found", async () => {
  const other = site.keys.rival.admin;
  const paths = [
    "/runs/t/steps",
    "/runs/t/steps/t~0:model:1",
    "/runs/t/steps/t~1:model:1",
    "/runs/t/steps/t~0:model:99",
  ];
  const codes = await Promise.all([
    site.get(paths[0] ?? "", { key: other }),
    site.get(paths[1] ?? "", { key: other }),
    site.get(paths[2] ?? ""),
    site.get(paths[3] ?? ""),
  ]);
  expect(codes.map(codeOf)).toEqual(["not-found", "not-found", "not-found", "not-found"]);
  expect((await site.get("/runs/t/steps/x")).status).toBe(400);
});

test("a client lists steps, reads their prompts, and keeps the content of the run", async () => {
  const run = createClient({ url: site.url, key: site.keys.acme.admin }).run("t");
  const { items } = await run.steps();
  expect(items.length).toBe(3);
  const prompts: StepPrompt[] = await Promise.all(items.map(({ stepId }) => run.prompt(stepId)));
  expect(prompts.every(({ isEqual }) => isEqual)).toBe(true);
  expect(await run.keep()).toBe(0);
});
