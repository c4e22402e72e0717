import { agent, AgentId, tool, type Agent, ModelError } from "reeve";
import { type ToolResultBlock } from "#kernel";
import { call, fail, manualModel, say, scriptedModel, testRuntime, type ScriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "./events-of.ts";
import { waitUntil } from "./passing-time.ts";

/** Returns the team in the model's last prompt. */
function teamInPrompt({ requests }: ScriptedModel): readonly (readonly [boolean, string])[] {
  const blocks = requests.at(-1)?.messages.at(-1)?.content ?? [];
  return blocks
    .filter((block): block is ToolResultBlock => block.type === "tool-result")
    .map(({ isError, content }) => [
      isError,
      content.map((inner) => (inner.type === "text" ? inner.text : "")).join(""),
    ]);
}

test("several calls of ask_<name> in one cycle spawn in parallel", async () => {
  const held = manualModel();
  const researcher = agent({ name: "researcher", description: "Digs", model: held });
  const model = scriptedModel([
    call("ask_researcher", { task: "a" }, ["ask_researcher", { task: "b" }]),
    say("done"),
  ]);
  const lead = agent({ name: "lead", model, team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  const run = await t.start(lead, "go");
  await waitUntil(() => held.calls.length === 2);
  held.calls[1]?.answer("two");
  held.calls[0]?.answer("one");
  expect((await run.result()).output).toBe("done");
  expect(model.requests[0]?.tools).toMatchObject([{ name: "ask_researcher", description: "Digs" }]);
  expect(new Set(teamInPrompt(model).map(([, said]) => said))).toEqual(new Set(["one", "two"]));
  const events = await t.events(run);
  expect(eventsOf(events, "handoff.made")).toHaveLength(2);
  expect(eventsOf(events, "tool.start")).toHaveLength(2);
  expect(eventsOf(events, "tool.end").map(({ status }) => status)).toEqual(["ok", "ok"]);
});

test("a member that fails is an error result that the model sees, with the reason", async () => {
  const error = new ModelError({ kind: "billing", message: "no money", unbilled: true });
  const researcher = agent({ name: "researcher", model: scriptedModel([fail(error)]) });
  const model = scriptedModel([call("ask_researcher", { task: "a" }), say("alone then")]);
  const lead = agent({ name: "lead", model, team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  expect(await t.run(lead, "go")).toMatchObject({ status: "completed", output: "alone then" });
  expect(teamInPrompt(model)).toEqual([[true, "researcher did not answer: failed (no money)"]]);
});

test("7.9 a member stopped by a guardrail is an error result, never an empty answer", async () => {
  const researcher = agent({
    name: "researcher",
    model: scriptedModel([call("nothing", {})]),
  });
  const model = scriptedModel([call("ask_researcher", { task: "a" }), say("alone then")]);
  const lead = agent({ name: "lead", model, team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  await t.run(lead, "go");
  expect(teamInPrompt(model)).toEqual([[true, expect.stringContaining("researcher did not answer: failed")]]);
});

test("a member that returns its answer without replying has answered", async () => {
  const writer: Agent = {
    id: AgentId.of("writer"),
    run: async (ctx) => `filed by ${ctx.supervision.agentId}`,
  };
  const model = scriptedModel([call("ask_writer", { task: "a" }), say("done")]);
  const lead = agent({ name: "lead", model, team: [writer] });
  await using t = testRuntime({ agents: [lead, writer] });
  await t.run(lead, "go");
  expect(teamInPrompt(model)).toEqual([[false, "filed by writer"]]);
});

test("2.3 without a free slot the call of a member is an error result, unless it may wait", async () => {
  const researcher = agent({ name: "researcher", model: scriptedModel([say("dug")]) });
  const model = scriptedModel([call("ask_researcher", { task: "a" }), say("alone then")]);
  const lead = agent({ name: "lead", model, team: [{ agent: researcher, onFull: "deny" }] });
  await using t = testRuntime({ agents: [lead, researcher] });
  const run = await t.start(lead, "go", { spawn: { maxAgents: 1 } });
  expect(await run.result()).toMatchObject({ status: "completed", output: "alone then" });
  expect(teamInPrompt(model)).toEqual([[true, expect.stringContaining("agents budget exhausted")]]);
});

test("6.7 a cancelled parent cancels its members", async () => {
  const held = manualModel();
  const researcher = agent({ name: "researcher", model: held });
  const model = scriptedModel([
    call("ask_researcher", { task: "a" }, ["ask_researcher", { task: "b" }]),
    say("never"),
  ]);
  const lead = agent({ name: "lead", model, team: [researcher] });
  await using t = testRuntime({ agents: [lead, researcher] });
  const run = await t.start(lead, "go");
  await waitUntil(() => held.calls.length === 2);
  expect((await run.cancel("user")).runs).toHaveLength(3);
  expect(await run.result()).toMatchObject({ status: "cancelled" });
  const ends = eventsOf(await t.events(run), "run.end");
  expect(ends.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
  expect(held.calls.every(({ signal }) => signal.aborted)).toBe(true);
});

test("an AI SDK tool has high risk, and is refused unless the permissions allow it", async () => {
  const ran: string[] = [];
  const tools = {
    fetch: {
      description: "Fetches",
      inputSchema: z.object({ url: z.string() }),
      execute: async ({ url }: { url: string }) => {
        ran.push(url);
        return { page: url };
      },
    },
  };
  const model = scriptedModel([call("fetch", { url: "x" }), say("done")]);
  const careful = agent({ name: "careful", model, tools });
  expect(careful.tools).toMatchObject([{ name: "fetch", risk: "high" }]);
  await using t = testRuntime({ agents: [careful] });
  await t.run(careful, "go");
  expect(ran).toEqual([]);
  expect(teamInPrompt(model)).toEqual([[true, expect.stringContaining("fetch refused")]]);
  const second = scriptedModel([call("fetch", { url: "x" }), say("done")]);
  const bold = agent({ ...careful, name: "bold", model: second, permissions: "allow-all" });
  await using free = testRuntime({ agents: [bold] });
  await free.run(bold, "go");
  expect(ran).toEqual(["x"]);
  expect(teamInPrompt(second)).toEqual([[false, '{"page":"x"}']]);
});

test("a tool name that some provider does not accept is refused", () => {
  const input = z.object({});
  const made = (name: string) => tool({ name, description: "", input, risk: "safe", execute: async () => 1 });
  expect(() => made("two words")).toThrow("invalid tool name");
});
