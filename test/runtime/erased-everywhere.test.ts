import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  agent,
  cache,
  createRuntime,
  memory,
  RunId,
  tool,
  TreeId,
  UserId,
  type Guardrail,
  type RunHandle,
  type Runtime,
} from "reeve";
import { environmentKeys } from "reeve/store";
import { apiKeys, createApiKey } from "reeve/server";
import { sqliteStore } from "reeve/stores/sqlite";
import { call, say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { TenantId } from "#kernel";
import { routes } from "../../src/server/routes.ts";
import { readable } from "../sealing/canaries.ts";
import { recorder } from "../telemetry/recorder.ts";
import { closing } from "../server/closing.ts";
import { inAYear, TestServer } from "../server/test-server.ts";

const acme = { tenantId: TenantId.of("acme") };
const own = { tenant: "acme", user: "ada" };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reeve-erased-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** One word for each place where a turn leaves content. */
const names = [
  "title",
  "metadata",
  "question",
  "argument",
  "result",
  "fact",
  "iban",
  "reason",
  "progress",
  "trip",
  "task",
  "child",
  "answer",
] as const;
const words: Readonly<Record<string, string>> = Object.fromEntries(
  names.map((name) => [name, `the-${name}-canary`]),
);
const word = (name: (typeof names)[number]): string => words[name] ?? expect.unreachable(name);
const findWords = (text: string): readonly string[] =>
  Object.entries(words).flatMap(([name, canary]) => (text.includes(canary) ? [name] : []));

const text = z.object({ text: z.string() });
const look = tool({
  name: "look",
  description: "Looks something up",
  input: text,
  risk: "safe",
  run: async (ctx) => {
    await ctx.emit(word("progress"));
    return word("result");
  },
});
const pay = tool({ name: "pay", description: "Pays", input: text, risk: "critical", execute: () => "paid" });
const noting: Guardrail = { name: "noting", onOutput: () => ({ kind: "warn", reason: word("trip") }) };

/** A lead whose turn leaves a word in every place. All of it is permanent, unless the caller says otherwise. */
const createLead = () =>
  agent({
    name: "lead",
    model: scriptedModel([
      call("look", { text: word("argument") }),
      call("remember", { key: "city", value: word("fact") }),
      call("pay", { text: word("iban") }),
      call("ask_child", { task: word("task") }),
      say(word("answer")),
    ]),
    tools: [look, pay],
    team: [
      agent({
        name: "child",
        model: scriptedModel([say(word("child"))]),
        retention: "permanent",
      }),
    ],
    permissions: { decide: ({ tool: asked }) => (asked === "pay" ? "ask" : "allow") },
    extensions: [memory({ facts: true, episodes: { recall: 5 } })],
    guardrails: [noting],
    middleware: { chat: [cache({ where: "store" })], function: [cache({ where: "store" })] },
  });

interface Site {
  readonly runtime: Runtime;
  readonly lead: ReturnType<typeof createLead>;
  readonly folder: string;
  /** Names the words that any reader, span or log shows, or that any file of the store has. */
  find(): Promise<readonly string[]>;
}

/** Opens a runtime and its server on a store in files. */
async function openSite({ isSealed }: { readonly isSealed: boolean }, eraseAfterS = 86_400): Promise<Site> {
  const files = await mkdtemp(join(folder, "store-"));
  const store = await sqliteStore({ path: join(files, "store.db") });
  const lead = createLead();
  const log: string[] = [];
  const { telemetry, spans } = recorder();
  const runtime = createRuntime({
    agents: [lead],
    store,
    telemetry,
    approver: () => ({ decision: "approved", reason: word("reason") }),
    eraseAfterS,
    log: (failure) => log.push(JSON.stringify(failure)),
    ...(isSealed && { keys: environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") }) }),
  });
  const scopes = ["read", "run", "content", "approve", "admin", "act-for-users"] as const;
  const { key, record } = createApiKey({
    tenant: "acme",
    user: null,
    scopes: [...scopes],
    expiresAt: inAYear,
  });
  const site = closing(await TestServer.open({ runtime, auth: apiKeys([record]) }));
  const find = async (): Promise<readonly string[]> => {
    const shown = await readEverything(site, key);
    const traces = JSON.stringify(
      (await spans()).map(({ name, attributes, events }) => [name, attributes, events]),
    );
    return [
      ...new Set([...findWords(shown + traces + log.join("\n")), ...(await readable(files, words))]),
    ].toSorted();
  };
  return { runtime, lead, folder: files, find };
}

/** The answers of every route that reads, about every run, step and conversation. */
async function readEverything(site: TestServer, key: string): Promise<string> {
  const seen: string[] = [];
  const get = async (path: string): Promise<string> => {
    const { text: answer } = await site.get(path, { key, headers: { "x-reeve-user": "ada" } });
    seen.push(answer);
    return answer;
  };
  const runs = [0, 1].map((number) => RunId.of(TreeId.of("turn"), number));
  const steps: string[] = [];
  for (const run of runs) {
    const listed = JSON.parse(await get(`/runs/${encodeURIComponent(run)}/steps`));
    for (const { stepId } of listed.items ?? [])
      steps.push(`/runs/${encodeURIComponent(run)}/steps/${encodeURIComponent(stepId)}`);
  }
  const streams = new Set(["/live", "/runs/:run/events", "/chat/:agent/:chat/stream"]);
  for (const { method, path } of routes) {
    if (method !== "get" || streams.has(path) || path.includes(":step")) continue;
    const about = path.replace(":session", "talk").replace(":agent", "lead").replace(":chat", "talk");
    if (about.includes(":run"))
      for (const run of runs) await get(about.replace(":run", encodeURIComponent(run)));
    else await get(about);
  }
  for (const step of steps) await get(step);
  return seen.join("\n");
}

/** Has one turn with the lead, and waits until all of it is stored. */
async function takeTurn({ runtime, lead }: Site): Promise<RunHandle<string>> {
  const talk = await runtime.sessions.create(lead, {
    id: "talk",
    ...own,
    title: word("title"),
    metadata: { note: word("metadata") },
  });
  const run = await talk.start(word("question"), { id: "turn" });
  expect(await run.result()).toMatchObject({
    status: "completed",
    output: expect.stringContaining(word("answer")),
  });
  await talk.waitForIdle();
  return run;
}

const sites = [{ isSealed: false }, { isSealed: true }];
const all = [...names].toSorted();

test.each(sites)(
  "a deleted conversation is nowhere, except for what the user is remembered by: %j",
  async (how) => {
    const site = await openSite(how);
    await takeTurn(site);
    await expect.poll(() => site.find()).toEqual(all);
    await (await site.runtime.sessions.get("talk", own)).delete();
    expect(await site.find()).toEqual(["fact"]);
    expect(await site.runtime.runs.list({ tenant: "acme" })).toMatchObject({ items: { length: 2 } });
  },
);

test.each(sites)(
  "a forgotten fact is nowhere, except for the conversation that is named: %j",
  async (how) => {
    const site = await openSite(how);
    await takeTurn(site);
    await expect.poll(() => site.find()).toEqual(all);
    expect(findWords(await readToolSteps(site.runtime))).toContain("fact");
    expect(countCached(site)).toBeGreaterThan(0);
    const { items, conversations } = await site.runtime.memory.forget({ key: "city" }, own);
    expect([items.length, conversations]).toEqual([1, ["talk"]]);
    expect(findWords(await readToolSteps(site.runtime))).toEqual([
      "argument",
      "result",
      "iban",
      "task",
      "child",
    ]);
    expect(countCached(site)).toBe(0);
    await (await site.runtime.sessions.get("talk", own)).delete();
    expect(await site.find()).toEqual([]);
  },
);

test.each(sites)("an erased user is nowhere: %j", async (how) => {
  const site = await openSite(how);
  await takeTurn(site);
  await expect.poll(() => site.find()).toEqual(all);
  await site.runtime.store.eraseUser(acme, UserId.of("ada"));
  expect(await site.find()).toEqual([]);
});

test.each(sites)("what a tree kept until its end is nowhere afterwards: %j", async (how) => {
  const site = await openSite(how, 1);
  const run = await site.runtime.start(site.lead, word("question"), { id: "turn", ...own, retention: "run" });
  await run.result();
  await expect.poll(() => site.find()).toEqual(["child", "fact", "task"]);
});

/** The number of cached answers: a model's may hold the fact, and their keys reveal nothing. */
function countCached({ folder: files }: Site): unknown {
  using file = new DatabaseSync(join(files, "store.db"), { readOnly: true });
  return file.prepare("select count(*) as number from reeve_cache").get()?.["number"];
}

/** The texts of all tool steps. Prompts of models show the conversation as well, which stays. */
async function readToolSteps(runtime: Runtime): Promise<string> {
  const shown: unknown[] = [];
  for (const number of [0, 1]) {
    const { items } = await runtime.steps(`turn~${number}`, { tenant: "acme" });
    for (const { stepId, manifest } of items)
      if (manifest?.kind === "tool") shown.push(await runtime.prompt(stepId, { tenant: "acme" }));
  }
  return JSON.stringify(shown);
}
