import assert from "node:assert/strict";
import { agent, extension } from "#agents";
import {
  ChatMessage,
  ContentBlock,
  interceptedMoments,
  type Extension,
  type Guardrail,
  type GuardrailDecision,
  type SessionEntry,
} from "#kernel";
import type { Runtime } from "#runtime";
import { memoryStore } from "#stores/memory";
import { call, say, scriptedModel, type ScriptedModel } from "../scripted-model.ts";
import { effect } from "./effect.ts";
import { eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** An extension that logs every call, and changes what it may change. */
function loggingExtension(name: string, log: string[]): Extension {
  const note = (moment: string): void => void log.push(`${name} ${moment}`);
  return extension({
    name,
    on: {
      input: (text) => (note("input"), `${text} +${name}`),
      beforeAgentStart: (prompt) => (note("beforeAgentStart"), `${prompt} +${name}`),
      context: (messages) => (note("context"), messages.filter((message) => !isNoise(message))),
      toolCall: async ({ input }, context) => {
        note("toolCall");
        await context.session.append({ type: "custom", kind: `${name} call`, data: input });
        return undefined;
      },
      toolResult: ({ result: { content } }, context) => {
        note("toolResult");
        context.compact();
        return { content: [...content, ContentBlock.text(`+${name}`)] };
      },
      sessionBeforeCompact: ({ messages }) => {
        note("sessionBeforeCompact");
        return { summary: `${messages.length} messages, says ${name}` };
      },
      sessionBeforeFork: () => note("sessionBeforeFork"),
      sessionBeforeSwitch: () => (note("sessionBeforeSwitch"), { cancel: true }),
      "turn.saved": () => note("turn.saved"),
    },
  });
}

const isNoise = (message: ChatMessage): boolean => ChatMessage.text(message).includes("noise");

/** A guardrail that logs every call, and allows everything. */
function loggingGuardrail(log: string[]): Guardrail {
  const look = (hook: string): GuardrailDecision => (log.push(`guardrail ${hook}`), { kind: "allow" });
  return {
    name: "looking",
    onTurnStart: () => look("onTurnStart"),
    onInput: () => look("onInput"),
    beforeCall: () => look("beforeCall"),
    afterCall: () => look("afterCall"),
    onOutput: () => look("onOutput"),
  };
}

const entriesOfBoth = (moment: string): readonly string[] => [`first ${moment}`, `second ${moment}`];

/** A turn that calls one tool: every extension and the guardrail at every moment. */
const wholeTurn = [
  "guardrail onTurnStart",
  ...entriesOfBoth("input"),
  "guardrail onInput",
  ...entriesOfBoth("beforeAgentStart"),
  ...entriesOfBoth("context"),
  ...entriesOfBoth("toolCall"),
  "guardrail beforeCall",
  "act",
  ...entriesOfBoth("toolResult"),
  "guardrail afterCall",
  ...entriesOfBoth("context"),
  "guardrail onOutput",
  ...entriesOfBoth("sessionBeforeCompact"),
];

const isWatched = (line: string): boolean => line.endsWith("turn.saved");

async function entriesOf(runtime: Runtime, id: string): Promise<readonly SessionEntry[]> {
  const entries: SessionEntry[] = [];
  for await (const line of (await runtime.sessions.get(id)).export())
    if (line.includes('"parentId"')) entries.push(JSON.parse(line));
  return entries;
}

/** The texts of a prompt, results included. */
const textsOf = ({ requests }: ScriptedModel, index: number): readonly string[] =>
  (requests[index]?.messages ?? []).map(({ content }) =>
    content
      .flatMap((block) => (block.type === "tool-result" ? block.content : [block]))
      .flatMap((block) => (block.type === "text" ? [block.text] : []))
      .join(" "),
  );

/** An extension whose handlers all fail or return an invalid reply. */
function broken(fail: () => unknown): Extension {
  const handlers = Object.fromEntries(interceptedMoments.map((moment) => [moment, fail]));
  return extension({ name: "broken", on: handlers });
}

/** Runs a turn with a tool call. Returns the model's prompts, the output, and the reported errors. */
async function turnWith(
  harness: Parameters<EngineCase["run"]>[0],
  extensions: readonly Extension[],
): Promise<{ readonly prompts: unknown; readonly output: unknown; readonly errors: readonly string[] }> {
  const model = scriptedModel([call("act", {}), say("done")]);
  const tools = [effect("act", async () => "acted")];
  const writer = agent({ name: "writer", model, instructions: "Act.", tools, extensions });
  return onRuntime(harness, { agents: [writer] }, async (runtime) => {
    const run = await runtime.start(writer, "go");
    const { output } = await run.result();
    const told = only(await historyOf(run), "extension.error");
    const errors = told.map(({ extension: name, error }) => `${name}: ${error.message}`);
    assert.equal(runtime.extensionErrors.length >= told.length, true);
    return { prompts: model.requests.map(({ messages }) => messages), output, errors };
  });
}

/** Section 7.8: interceptions of extensions. */
export const extensionCases: readonly EngineCase[] = [
  {
    name: "7.8 extensions intercept every stage of a turn once, in one order, before the agent's own guardrails",
    async run(harness) {
      const log: string[] = [];
      const act = effect("act", async () => (log.push("act"), "acted"));
      const model = scriptedModel([say("noise"), call("act", {}), say("two")]);
      const writer = agent({
        name: "writer",
        model,
        instructions: "Act.",
        tools: [act],
        guardrails: [loggingGuardrail(log)],
        extensions: [loggingExtension("second", log)],
      });
      const options = {
        agents: [writer],
        store: memoryStore(),
        extensions: [loggingExtension("first", log)],
      };
      await onRuntime(harness, options, async (runtime) => {
        const talk = await runtime.sessions.create(writer, { id: "talk" });
        assert.equal((await talk.invoke("one")).output, "noise");
        log.length = 0;
        assert.equal((await talk.invoke("two")).output, "two");
        assert.deepEqual(
          log.filter((line) => !isWatched(line)),
          wholeTurn,
        );
        // The first answer is noise: the second turn is not shown it.
        assert.deepEqual(textsOf(model, 2), [
          "Act. +first +second",
          "one +first +second",
          "two +first +second",
          "",
          "acted +first +second",
        ]);
        const entries = await entriesOf(runtime, "talk");
        const kinds = entries.flatMap((entry) => (entry.type === "custom" ? [entry.kind] : []));
        assert.deepEqual(kinds, ["first call", "second call"]);
        const made = entries.flatMap((entry) => (entry.type === "compaction" ? [entry.summary] : []));
        assert.deepEqual(made, ["2 messages, says second"]);
        if (!harness.losesHookCalls)
          await eventually("handlers of events are called", () => log.filter(isWatched).length >= 2);
        log.length = 0;
        const copy = await talk.fork();
        await assert.rejects(talk.switchTo(copy.id), { code: "cancelled" });
        assert.deepEqual(log, [...entriesOfBoth("sessionBeforeFork"), "first sessionBeforeSwitch"]);
        assert.deepEqual(runtime.extensionErrors, []);
      });
    },
  },
  {
    name: "7.8 an extension that throws or returns an invalid reply changes nothing but the list of errors",
    async run(harness) {
      const plain = await turnWith(harness, []);
      assert.deepEqual(plain.errors, []);
      const throwing = await turnWith(harness, [
        broken(() => {
          throw new Error("oops");
        }),
      ]);
      assert.deepEqual([throwing.prompts, throwing.output], [plain.prompts, plain.output]);
      assert.deepEqual(throwing.errors, Array<string>(6).fill("broken: oops"));
      const odd = await turnWith(harness, [broken(() => 7)]);
      assert.deepEqual([odd.prompts, odd.output], [plain.prompts, plain.output]);
      assert.equal(odd.errors.length, 6);
    },
  },
  {
    name: "7.8 a tool call that an extension blocks is not made, and the model gets the reason",
    async run(harness) {
      const acted: string[] = [];
      const model = scriptedModel([call("act", { n: 1 }), say("done")]);
      const tools = [effect("act", async () => (acted.push("acted"), "acted"))];
      const stern = extension({ name: "stern", on: { toolCall: () => ({ block: "not here" }) } });
      const writer = agent({ name: "writer", model, tools, extensions: [stern] });
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        assert.equal((await run.result()).output, "done");
        const [trip, ...others] = only(await historyOf(run), "guardrail.trip");
        assert.deepEqual([trip?.guardrail, trip?.decision, others], ["extension stern", "block", []]);
      });
      assert.equal(textsOf(model, 1).at(-1), "not called: not here");
      assert.deepEqual(acted, []);
    },
  },
  {
    name: "7.8 the agent's own tool wins a name collision, and the collision is reported once",
    async run(harness) {
      const model = scriptedModel([call("act", {}), say("done")]);
      const [own, other] = ["own", "other"].map((text) => effect("act", async () => text));
      assert.ok(own && other);
      const shadow = extension({ name: "shadow", tools: [other] });
      const writer = agent({ name: "writer", model, tools: [own], extensions: [shadow] });
      await onRuntime(harness, { agents: [writer] }, async (runtime) => {
        const run = await runtime.start(writer, "go");
        assert.equal((await run.result()).output, "done");
        const told = only(await historyOf(run), "extension.error");
        assert.deepEqual(
          told.map(({ extension: name, error }) => [name, error.message]),
          [["shadow", "its tool act is left out, because the agent has a tool of that name"]],
        );
      });
      assert.equal(textsOf(model, 1).at(-1), "own");
    },
  },
];
