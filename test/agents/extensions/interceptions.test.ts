import {
  agent,
  ChatMessage,
  ContentBlock,
  createRuntime,
  extension,
  HookManager,
  tool,
  type Agent,
  type AgentOptions,
  type NumberedEvent,
} from "reeve";
import { type ExtensionContext, type Interceptions } from "#kernel";
import { call, manualClock, say, scriptedModel, testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { passTimeUntil } from "../passing-time.ts";

const act = tool({
  name: "act",
  description: "Acts",
  input: z.object({}),
  risk: "safe",
  execute: () => "acted",
});

const extensionWith = (on: Interceptions, name = "tested") => extension({ name, on });

/** Runs one turn that calls a tool. Returns the events and the prompts. */
async function turnOf(on: Interceptions, rest: Partial<AgentOptions> = {}) {
  const model = scriptedModel([call("act", {}), say("done")]);
  const writer = agent({ name: "writer", model, tools: [act], extensions: [extensionWith(on)], ...rest });
  await using kit = testRuntime({ agents: [writer] });
  const run = await kit.start(writer, "go");
  const result = await run.result();
  return { result, model, events: await kit.events(run), errors: kit.runtime.extensionErrors };
}

const errorsIn = (events: readonly NumberedEvent[]) =>
  events.flatMap((event) => (event.type === "extension.error" ? [event.error.message] : []));

test("a handler that takes longer than 30 s is skipped, and its signal is aborted", async () => {
  const clock = manualClock();
  let signal: AbortSignal | undefined;
  const never = new Promise<never>(() => undefined);
  const slow = extensionWith({
    toolCall: (_, context) => ((signal = context.signal), never),
    context: () => never,
  });
  const model = scriptedModel([call("act", {}), say("done")]);
  const writer = agent({ name: "writer", model, tools: [act], extensions: [slow] });
  await using kit = testRuntime({ agents: [writer], clock, replay: false });
  const began = clock.now();
  const run = await kit.start(writer, "go");
  const { output } = await passTimeUntil(clock, run.result());
  expect(output).toBe("done");
  const elapsedS = (clock.now() - began) / 1_000;
  expect([elapsedS >= 90, elapsedS < 100]).toEqual([true, true]);
  expect(signal?.aborted).toBe(true);
  const late = "it took longer than 30 s";
  expect(errorsIn(await passTimeUntil(clock, kit.events(run)))).toEqual([late, late, late]);
});

test("guardrails after a handler that fails still block", async () => {
  const { model } = await turnOf(
    {
      toolCall: () => {
        throw new Error("oops");
      },
    },
    { guardrails: [{ name: "stern", beforeCall: () => ({ kind: "block", reason: "no" }) }] },
  );
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("not called: no");
});

test("patches of a result accumulate, and a patch that terminates ends the turn without another call", async () => {
  const patches = [
    extensionWith({ toolResult: () => ({ content: [ContentBlock.text("patched")] }) }, "one"),
    extensionWith(
      {
        toolResult: ({ result }) => ({
          content: [...result.content, ContentBlock.text("twice")],
          terminate: true,
        }),
      },
      "two",
    ),
  ];
  const { result, model } = await turnOf({}, { extensions: patches });
  expect([result.output, model.requests.length]).toEqual(["patched\ntwice", 1]);
});

test("an input is changed before the guardrails and the instructions see it", async () => {
  const seen: string[] = [];
  const { model } = await turnOf(
    { input: (text) => `${text}, please` },
    {
      instructions: ({ input }) => (seen.push(`instructions ${input}`), "Act."),
      guardrails: [
        { name: "looking", onInput: ({ text }) => (seen.push(`guardrail ${text}`), { kind: "allow" }) },
      ],
    },
  );
  expect(seen).toEqual(["guardrail go, please", "instructions go, please"]);
  const [, input] = model.requests[0]?.messages ?? [];
  expect(input && ChatMessage.text(input)).toBe("go, please");
});

test("the system prompt that an extension has replaced is kept for the turn, and computed again in the next", async () => {
  let count = 0;
  const on: Interceptions = { beforeAgentStart: (prompt) => `${prompt} Turn ${(count += 1)}.` };
  const model = scriptedModel([call("act", {}), say("one"), say("two")]);
  const writer = agent({
    name: "writer",
    model,
    tools: [act],
    instructions: "Act.",
    extensions: [extensionWith(on)],
  });
  await using runtime = createRuntime({ agents: [writer] });
  const talk = await runtime.sessions.create(writer);
  await talk.invoke("first");
  await talk.invoke("second");
  const prompts = model.requests.map(({ messages: [first] }) => first && ChatMessage.text(first));
  expect(prompts).toEqual(["Act. Turn 1.", "Act. Turn 1.", "Act. Turn 2."]);
});

test("messages that an extension leaves out never leave a call without its result", async () => {
  const { model } = await turnOf({ context: (messages) => messages.filter(({ role }) => role !== "tool") });
  const roles = model.requests[1]?.messages.map(({ role }) => role);
  expect(roles).toEqual(["user", "assistant", "tool"]);
});

test("a handler can read the run's model, session, usage and prompt, and cannot navigate the session inside a turn", async () => {
  const seen: unknown[] = [];
  const moves: readonly ((context: ExtensionContext) => Promise<unknown>)[] = [
    (context) => context.fork(),
    (context) => context.newSession(),
    (context) => context.switchSession("other"),
    (context) => context.reload(),
    (context) => context.runCompaction(),
    (context) => context.waitForIdle(),
  ];
  const toolResult: Interceptions["toolResult"] = async (_, context) => {
    const refused = await Promise.all(moves.map((move) => move(context).catch(({ code }) => code)));
    seen.push(context.cwd, context.model?.id, [...context.models.keys()], context.session.id);
    seen.push(await context.isIdle(), context.hasPendingMessages(), context.getSystemPrompt());
    seen.push(context.getContextUsage().tokens > 0, new Set(refused), await context.session.leaf());
  };
  const model = scriptedModel([call("act", {}), say("done")]);
  const writer = agent({
    name: "writer",
    model,
    tools: [act],
    instructions: "Act.",
    extensions: [extensionWith({ toolResult })],
  });
  await using runtime = createRuntime({ agents: [writer], workingDirectory: "/srv/work" });
  await (await runtime.sessions.create(writer, { id: "talk" })).invoke("go");
  expect(runtime.extensionErrors).toEqual([]);
  const shown = ["/srv/work", model.id, [model.id], "talk", false, false, "Act.", true];
  expect(seen).toEqual([...shown, new Set(["session-busy"]), null]);
});

test("a handler of an event may navigate the session after the turn", async () => {
  const made = Promise.withResolvers<readonly string[]>();
  const on: Interceptions = {
    "run.end": async (_, context) => {
      await context.waitForIdle();
      await context.session.append({ type: "custom", kind: "note", data: 7 });
      const copy = await context.fork();
      const other = await context.newSession({ title: "Other" });
      made.resolve([copy, other, await context.switchSession(other)]);
    },
  };
  const model = scriptedModel([say("done")]);
  const writer = agent({ name: "writer", model, extensions: [extensionWith(on)] });
  await using runtime = createRuntime({ agents: [writer] });
  const talk = await runtime.sessions.create(writer, { id: "talk", user: "ada" });
  await talk.invoke("go");
  const [copy = "", other = "", moved] = await made.promise;
  expect(moved).toBe(other);
  const { title, userId } = await (await runtime.sessions.get(other, { user: "ada" })).head();
  expect([title, userId]).toEqual(["Other", "ada"]);
  const lines: string[] = [];
  for await (const line of (await runtime.sessions.get(copy, { user: "ada" })).export()) lines.push(line);
  expect(lines.some((line) => line.includes('"kind":"note"'))).toBe(true);
});

test("a handler may cancel its run", async () => {
  const { result } = await turnOf({
    toolCall: (_, context) => context.abort("enough").then(() => undefined),
  });
  expect([result.status, result.stopReason]).toEqual(["cancelled", "cancelled"]);
});

test("an extension cancels a compaction, and nothing changes", async () => {
  const on: Interceptions = { sessionBeforeCompact: () => ({ cancel: true }) };
  const model = scriptedModel([say("one"), say("two"), say("SUMMARY")]);
  const writer = agent({ name: "writer", model, extensions: [extensionWith(on)] });
  await using runtime = createRuntime({ agents: [writer] });
  const talk = await runtime.sessions.create(writer);
  await talk.invoke("first");
  await talk.invoke("second");
  expect(await talk.runCompaction()).toBeNull();
  expect(model.requests.length).toBe(2);
});

test("middleware, hooks and extensions of the runtime come before the agent's own", async () => {
  const log: string[] = [];
  const layer = (name: string) => ({
    process: async (_: unknown, next: () => Promise<void>) => {
      log.push(`layer ${name}`);
      await next();
    },
  });
  const hooks = new HookManager();
  hooks.on("turn.start", () => void log.push("hook runtime"));
  const bundle = (name: string) =>
    extension({
      name,
      middleware: { chat: [layer(name)] },
      on: { context: () => void log.push(`context ${name}`) },
    });
  const model = scriptedModel([say("done")]);
  const writer = agent({
    name: "writer",
    model,
    middleware: { chat: [layer("agent")] },
    extensions: [bundle("own")],
  });
  const own: Agent = { ...writer, budget: { maxTokens: 100_000 } };
  await using runtime = createRuntime({
    agents: [writer],
    middleware: { chat: [layer("runtime")] },
    hooks,
    extensions: [bundle("shared")],
  });
  await (await runtime.start(own, "go")).result();
  expect(log.filter((line) => !line.startsWith("hook"))).toEqual([
    "context shared",
    "context own",
    "layer runtime",
    "layer shared",
    "layer own",
    "layer agent",
  ]);
  expect(log).toContain("hook runtime");
});
