import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ObjectContext, TerminalError, object } from "@restatedev/restate-sdk";
import { AgentId, type Agent, ChatMessage, Runtime, tool } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { say, scriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Json } from "#kernel";
import { z } from "zod";
import { fresh, launch, program, settle } from "./counter-program.ts";
import { plainWorker } from "./plain-worker.ts";

let baseDir: string;
let server: RestateServer;

beforeAll(async () => {
  baseDir = await mkdtemp(join(tmpdir(), "reeve-sealing-"));
  // Compressed files would hide the searched words.
  const env = {
    RESTATE_ROCKSDB_DISABLE_WAL_COMPRESSION: "true",
    RESTATE_ROCKSDB_DISABLE_L0_L1_COMPRESSION: "true",
  };
  server = await restateServer({ baseDir, env });
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(baseDir, { recursive: true, maxRetries: 3 });
});

/** Creates strings that occur nowhere else. */
function canaries<Name extends string>(...names: readonly Name[]): Record<Name, string> {
  return Json.as(Object.fromEntries(names.map((name) => [name, `${name}-${randomUUID()}`])));
}

/** Returns which of them are readable in any file of the server. */
async function readable(wanted: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const files = (await readdir(baseDir, { recursive: true, withFileTypes: true })).filter((it) =>
    it.isFile(),
  );
  const contents = await Promise.all(files.map((it) => readFile(join(it.parentPath, it.name))));
  expect(contents.length).toBeGreaterThan(5);
  return Object.keys(wanted).filter((name) => contents.some((bytes) => bytes.includes(wanted[name] ?? name)));
}

const control = canaries("argument", "state", "step", "result", "failure", "retried");

/** Puts a canary wherever a program without seals would: the search must find each. */
async function writePlainly(): Promise<void> {
  let attempts = 0;
  const plain = object({
    name: "plain",
    handlers: {
      keep: async (ctx: ObjectContext, argument: string) => {
        ctx.set("state", control.state);
        await ctx.run("step", () => {
          attempts += 1;
          if (attempts === 1) throw new Error(control.retried);
          return control.step;
        });
        return argument === "" ? null : control.result;
      },
      fail: async (ctx: ObjectContext) => {
        await ctx.run("fail", () => {
          throw new TerminalError(control.failure);
        });
      },
    },
  });
  const worker = await plainWorker(server, [plain]);
  const call = (method: string): Promise<Response> =>
    fetch(`${server.ingress}/plain/a/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(control.argument),
    });
  expect((await call("keep")).status).toBe(200);
  expect((await call("fail")).status).toBe(500);
  await worker[Symbol.asyncDispose]();
}

const secret = canaries(
  "input",
  "metadata",
  "step",
  "stepError",
  "prompt",
  "answer",
  "toolInput",
  "toolOutput",
  "task",
  "reply",
  "message",
  "emitted",
  "helperError",
  "crash",
  "signal",
  "output",
);

const look = tool({
  name: "look",
  description: "Looks",
  input: z.object({ at: z.string() }),
  risk: "safe",
  execute: async () => secret.toolOutput,
});

const writer: Agent = {
  id: AgentId.of("writer"),
  async run(ctx, inbox) {
    for await (const message of inbox) await ctx.reply(message, secret.reply);
  },
};

const fails: Agent = {
  id: AgentId.of("fails"),
  run: async () => Promise.reject(new Error(secret.helperError)),
};

let attempts = 0;

/** Sends or receives each of them, and waits before its end. */
const lead: Agent = {
  id: AgentId.of("lead"),
  model: scriptedModel([say(secret.answer)]),
  tools: [look],
  async run(ctx) {
    await ctx.step("work", () => secret.step);
    await ctx.step("fail", () => Promise.reject(new Error(secret.stepError))).catch(() => null);
    await ctx.llm([ChatMessage.user(secret.prompt)]);
    await ctx.tool("look", { at: secret.toolInput });
    const child = await ctx.spawn(writer, secret.task);
    await ctx.ask(child, secret.message, { timeoutS: 30 });
    await ctx.join(await ctx.spawn(fails, "fail"));
    await ctx.emit({ found: secret.emitted });
    attempts += 1;
    if (attempts === 1) throw new Error(secret.crash);
    await ctx.waitFor("go");
    return secret.output;
  },
};

test("no input, step or output of a run is readable in any file of the server", async () => {
  const engine = restate({ ...server, namespace: "agents", log: () => {} });
  await using runtime = new Runtime({ agents: [lead, writer, fails], engine });
  await runtime.serve({ port: 0 });
  const run = await runtime.start(lead, secret.input, {
    tenant: "acme",
    metadata: { note: secret.metadata },
  });
  await expect.poll(() => attempts).toBe(2);
  await writePlainly();
  await expect.poll(() => readable(control)).toEqual(Object.keys(control));
  expect(await readable(secret)).toEqual([]);
  await run.signal("go", secret.signal);
  expect(await run.result()).toMatchObject({ status: "completed", output: secret.output });
  expect(await readable(secret)).toEqual([]);
  await runtime[Symbol.asyncDispose]();
  await server.stop();
  expect(await readable(control)).toEqual(Object.keys(control));
  expect(await readable(secret)).toEqual([]);
  await server.restart();
});

test("state and errors of objects are not readable in any file of the server", async () => {
  const told = canaries("word", "stepOnce", "thrown");
  const engine = restate({ ...server, namespace: "counters", log: () => {} });
  engine.define(program);
  await engine.serve({ port: 0 });
  let executed = 0;
  const other = fresh();
  const { tree, result } = await launch(engine, async (primitives) => {
    await settle(primitives, primitives.call(primitives.launch.tree, "say", told.word));
    const step = primitives.step("step", async () => {
      executed += 1;
      if (executed === 1) throw new Error(told.stepOnce);
      return null;
    });
    await settle(primitives, step);
    const refused = primitives.call(other, "refuse", told.thrown);
    return (await primitives.race(new Set([refused]))).outcome;
  });
  expect(await result).toMatchObject({ ok: false, error: { message: told.thrown } });
  await expect(engine.call(tree, "refuse", told.thrown)).rejects.toThrow(told.thrown);
  expect(await engine.call(tree, "words", null)).toEqual([told.word]);
  await engine[Symbol.asyncDispose]();
  await server.restart();
  expect(await readable(control)).toEqual(Object.keys(control));
  expect(await readable(told)).toEqual([]);
});
