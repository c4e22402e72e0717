import {
  agent,
  AgentId,
  createRuntime,
  HookManager,
  secret,
  tool,
  type Agent,
  type AgentOptions,
  type FailureRecord,
  type NumberedEvent,
} from "reeve";
import { call, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { readAll } from "./read-all.ts";

const empty = z.object({});

const throwingTool = (error: unknown) =>
  tool({
    name: "search",
    description: "Searches",
    input: empty,
    risk: "safe",
    execute: async () => {
      throw error;
    },
  });

interface Ran {
  readonly model: ScriptedModel;
  readonly log: readonly FailureRecord[];
  readonly events: readonly NumberedEvent[];
}

/** Runs a lead that calls its tool `search` once. */
async function runLead(options: Partial<AgentOptions>, input = {}): Promise<Ran> {
  const log: FailureRecord[] = [];
  const model = scriptedModel([call("search", input), say("done")]);
  const lead = agent({ name: "lead", model, ...options });
  await using t = testRuntime({ agents: [lead], log: (failure) => log.push(failure) });
  return { model, log, events: await t.events(await t.start(lead, "go")) };
}

const lastPromptMessage = ({ model }: Ran): string =>
  JSON.stringify(model.requests.at(-1)?.messages.at(-1)?.content);

const sources = ({ log }: Ran): unknown =>
  log.map(({ agent: name, diagnostic: { source, message } }) => [name, source, message]);

test("a tool that throws: the log gets its line once, and the model its message alone", async () => {
  const ran = await runLead({ tools: [throwingTool(new TypeError("no connection"))] });
  expect(sources(ran)).toEqual([["lead", "tool search", "no connection"]]);
  expect(ran.log[0]?.diagnostic.frames[0]).toMatch(/test\/runtime\/failures\.test\.ts:\d+:\d+/);
  expect(lastPromptMessage(ran)).toContain("no connection");
  expect(lastPromptMessage(ran)).not.toContain("failures.test.ts");
});

test("known and likely secrets reach neither model nor log nor events", async () => {
  const known = secret("correct horse battery");
  const texts = [
    known.reveal(),
    "sk-abcdefghijklmnopqrstuvwx",
    "postgres://ada:hunter2@db/reeve",
    "password=hunter3",
    '"apiKey": "hunter4"',
    "Authorization: Bearer hunter5hunter5",
  ];
  const ran = await runLead({ tools: [throwingTool(new Error(texts.join(" | ")))] });
  const all = JSON.stringify([ran.log, ran.events, lastPromptMessage(ran)]);
  expect(all).not.toMatch(/horse|sk-abc|hunter/);
  expect(ran.log[0]?.diagnostic.message).toBe(
    '[secret] | [secret] | postgres://ada:[secret]@db/reeve | password=[secret] | "apiKey": "[secret]" | Authorization: Bearer [secret]',
  );
});

test("a message of an error is cut for the model after 2,000 characters", async () => {
  const ran = await runLead({ tools: [throwingTool(new Error("x".repeat(5_000)))] });
  expect(lastPromptMessage(ran)).toContain(`${"x".repeat(2_000)} [3000 more characters left out]`);
});

test("an invalid tool input is reported with its path, to the model and in the log", async () => {
  const user = z.object({ age: z.number(), names: z.array(z.string()) });
  const lookUp = tool({
    name: "search",
    description: "Searches",
    input: z.object({ user, city: z.string() }),
    risk: "safe",
    execute: async () => null,
  });
  const ran = await runLead({ tools: [lookUp] }, { user: { age: "x", names: ["a", 1] } });
  expect(lastPromptMessage(ran)).toContain(
    "bad input: user.age: expected number, received string; user.names[1]: expected string, received number; city: expected string, received undefined",
  );
});

test("middleware, guardrails and hooks that throw reach the log with their name", async () => {
  class Audit {
    async process(): Promise<void> {
      throw new RangeError("audit is down");
    }
  }
  const hooks = new HookManager();
  hooks.on("tool.start", () => {
    throw new Error("hook is broken");
  });
  const broken = {
    name: "filter",
    beforeCall: () => {
      throw new Error("filter is broken");
    },
  };
  const pass = { process: (_: unknown, next: () => Promise<void>) => next() };
  const ran = await runLead({
    tools: [throwingTool(new Error("never"))],
    middleware: { function: [pass, new Audit()] },
    guardrails: [broken],
    hooks,
  });
  expect(sources(ran)).toEqual(
    expect.arrayContaining([
      ["lead", "guardrail filter", "filter is broken"],
      ["lead", "middleware 2 (Audit)", "audit is down"],
      ["lead", "hook on tool.start", "hook is broken"],
    ]),
  );
});

test("a chat middleware that throws ends the run with its line", async () => {
  const broken = {
    process: async () => {
      throw new RangeError("no cache");
    },
  };
  const ran = await runLead({ middleware: { chat: [broken] } });
  const end = ran.events.find((event) => event.type === "run.end");
  expect(end).toMatchObject({
    status: "failed",
    diagnostic: { source: "middleware 1", message: "no cache" },
  });
});

test("by default failures go to standard error, in production without their message", async () => {
  const written: string[] = [];
  const write = vi
    .spyOn(process.stderr, "write")
    .mockImplementation((text) => written.push(String(text)) > 0);
  const lead: Agent = {
    id: AgentId.of("lead"),
    run: async () => {
      throw new TypeError("of ada@example.com");
    },
  };
  try {
    for (const mode of ["development", "production"]) {
      vi.stubEnv("NODE_ENV", mode);
      await using runtime = createRuntime({ agents: [lead], maxRestarts: 0 });
      await readAll((await runtime.start(lead, "go", { id: mode })).events());
    }
  } finally {
    write.mockRestore();
    vi.unstubAllEnvs();
  }
  const [first = "", second = "", ...more] = written;
  expect(more).toEqual([]);
  expect(first).toMatch(
    /^agent lead \(run development~0\): agent lead threw TypeError: of ada@example\.com\n {4}at .*failures\.test\.ts:\d+:\d+/,
  );
  expect(second).toMatch(
    /^agent lead \(run production~0\): agent lead threw TypeError: \(message in the events\)\n {4}at /,
  );
});

const brokenLog = (): never => {
  throw new Error("no disk");
};

test("a log that throws changes nothing", async () => {
  const lead = agent({
    name: "lead",
    model: scriptedModel([call("search", {}), say("done")]),
    tools: [throwingTool(new Error("no"))],
  });
  await using t = testRuntime({ agents: [lead], log: brokenLog });
  expect((await t.run(lead, "go")).output).toBe("done");
});
