import { AgentId, ChatMessage, Json, Usage, type Agent, type EffectTool, type NumberedEvent } from "#kernel";
import type { TreeState } from "#ledger";
import { memoryStore } from "reeve/stores/memory";
import { describe, expect, test } from "vitest";
import { effect, echo, perCall, type Witness } from "./doubles.ts";
import { type Death, keyOfStep, Stage } from "./stage.ts";

/** Between an effect and its record: here the outcome is unknown. */
const insideTool = [
  "gate begin: after",
  "effect mail: before",
  "effect mail: after",
  "step tool: done, not journaled",
] as const;
const insideModel = [
  "gate begin: after",
  "model: before",
  "model: after",
  "step model: done, not journaled",
] as const;

interface Played {
  readonly output: unknown;
  readonly delivered: readonly string[];
  readonly bill: number;
  readonly events: readonly NumberedEvent[];
}

/** Plays one agent whose execution dies the first `times` times at a crash point, with the given decision. */
async function play(
  point: string,
  times: number,
  agentOf: (witness: Witness) => Agent,
  decisions: readonly string[] = [],
): Promise<Played> {
  let deaths = 0;
  const deathAt = (place: string): Death => (place === point && ++deaths <= times ? "one" : "none");
  await using stage = new Stage({ deathAt });
  const delivered: string[] = [];
  let bill = 0;
  const agent = agentOf({
    recordModelCall: () => stage.happens("model", () => void (bill += 1)),
    recordToolCall: (tool, key) => stage.happens(`effect ${tool}`, () => void delivered.push(key)),
  });
  const runtime = stage.runtime({ agents: [agent], store: memoryStore() });
  const story = async (): Promise<Omit<Played, "delivered" | "bill">> => {
    const run = await runtime.start(agent, "go", { id: "tree" });
    const events: NumberedEvent[] = [];
    let asked = 0;
    for await (const event of run.events()) {
      events.push(event);
      if (event.type === "approval.requested")
        await (decisions[asked++] === "rerun" ? run.approve(event.approvalId) : run.deny(event.approvalId));
    }
    return { output: (await run.result()).output, events };
  };
  return { ...(await stage.world.run(story(), { age: 3_600_000 })), delivered, bill };
}

const mailer =
  (rest: Pick<EffectTool, "idempotent" | "onUnknown">) =>
  (witness: Witness): Agent => ({
    id: AgentId.of("mailer"),
    tools: [effect(witness, "mail", rest)],
    run: async (ctx) => {
      const { isError, value } = await ctx.tool("mail", "letter");
      return isError ? "unknown" : (value ?? null);
    },
  });

const sent = { did: "mail", input: "letter" };
const key = keyOfStep("tree~0:tool:1");
const countEvents = (events: readonly NumberedEvent[], type: NumberedEvent["type"]): number =>
  events.filter((event) => event.type === type).length;

describe.each(insideTool)("5.3 killed at %s", (point) => {
  test("an idempotent tool is delivered again, with the same key", async () => {
    // It passes no gate.
    const place = point === "gate begin: after" ? "step tool: begun" : point;
    const { output, delivered } = await play(place, 1, mailer({ idempotent: true }));
    expect(output).toEqual(sent);
    expect(new Set(delivered)).toEqual(new Set([key]));
  });

  test("a tool that reports is not run again, and the model learns that the outcome is unknown", async () => {
    const { output, delivered } = await play(point, 1, mailer({ onUnknown: "report" }));
    expect(output).toBe("unknown");
    expect(delivered.length).toBeLessThanOrEqual(1);
  });

  test("a tool that reruns is run again with the same key", async () => {
    const { output, delivered } = await play(point, 1, mailer({ onUnknown: "rerun" }));
    expect(output).toEqual(sent);
    expect(new Set(delivered)).toEqual(new Set([key]));
  });

  test("a tool that asks is run again after approval", async () => {
    const { output, delivered, events } = await play(point, 1, mailer({ onUnknown: "ask" }), ["rerun"]);
    expect([output, countEvents(events, "approval.requested")]).toEqual([sent, 1]);
    expect(new Set(delivered)).toEqual(new Set([key]));
  });

  test("a tool that asks is not run again without approval", async () => {
    const { output, delivered } = await play(point, 1, mailer({ onUnknown: "ask" }));
    expect(output).toBe("unknown");
    expect(delivered.length).toBeLessThanOrEqual(1);
  });
});

test.each(["effect mail: before", "effect mail: after"])(
  "5.3 after a second kill at %s a tool that asks asks again, because one decision covers one call",
  async (point) => {
    const { output, delivered, events } = await play(point, 2, mailer({ onUnknown: "ask" }), ["rerun"]);
    expect(output).toBe("unknown");
    expect(delivered.length).toBeLessThanOrEqual(2);
    const asked = events.flatMap((event) => (event.type === "approval.requested" ? [event.approvalId] : []));
    expect([asked.length, new Set(asked).size]).toEqual([2, 2]);
  },
);

const thinker = (witness: Witness): Agent => ({
  id: AgentId.of("thinker"),
  model: echo(witness),
  run: async (ctx) => ChatMessage.text((await ctx.llm([ChatMessage.user("hello")])).message),
});

test.each(insideModel)(
  "5.4 after a kill at %s the model is called once more, and the lost attempt stays in doubt",
  async (point) => {
    const { output, bill, events } = await play(point, 1, thinker);
    expect([output, countEvents(events, "budget.reserved"), countEvents(events, "budget.settled")]).toEqual([
      "heard hello",
      2,
      1,
    ]);
    expect(bill).toBe(point.startsWith("gate") || point.endsWith("before") ? 1 : 2);
  },
);

/** Room for a few calls: each is reserved at the prompt's bound and 50 tokens. */
const cap = 500;

test("5.4 a run whose model step is lost three times in a row is paused with the reason", async () => {
  let deaths = 0;
  await using stage = new Stage({
    deathAt: (place) => (place === "model: after" && ++deaths <= 3 ? "one" : "none"),
  });
  let bill = 0;
  const agent = thinker({
    recordModelCall: () => stage.happens("model", () => void (bill += Usage.tokens(perCall))),
    recordToolCall: async () => undefined,
  });
  const runtime = stage.runtime({ agents: [agent], store: memoryStore() });
  const story = async (): Promise<void> => {
    const run = await runtime.start(agent, "go", { id: "tree", budget: { maxTokens: cap } });
    await stage.world.waitUntil(async () => (await run.status()) === "paused");
    const { tree } = Json.as<{ readonly tree: TreeState }>(
      await stage.ask({ type: "tree", key: "-/tree" }, "ledger", { run: run.runId }),
    );
    const { settled, reserved, inDoubt } = tree.account;
    expect([bill, settled.tokens, reserved.tokens]).toEqual([45, 0, 0]);
    expect(inDoubt.tokens).toBeGreaterThanOrEqual(bill);
    expect(inDoubt.tokens).toBeLessThanOrEqual(cap);
    await run.resume();
    expect((await run.result()).output).toBe("heard hello");
    const events: NumberedEvent[] = [];
    for await (const event of run.events()) events.push(event);
    const paused = events.filter((event) => event.type === "run.paused");
    expect(paused.map(({ cause, reason }) => [cause, reason])).toEqual([
      ["held", "3 attempts of tree~0:model:1 were lost"],
    ]);
  };
  await stage.world.run(story(), { age: 3_600_000 });
  expect(bill).toBe(60);
});
