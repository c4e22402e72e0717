import { agent, createRuntime, type NumberedEvent, tool } from "reeve";
import { type EffectCall } from "#kernel";
import { local } from "reeve/engines/local";
import { memoryStore } from "reeve/stores/memory";
import { call, manualClock, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ToolUpdate, UpdateFeed } from "#deltas";
import { ToolUpdates } from "../../src/run/tool-updates.ts";
import { readAll } from "./read-all.ts";

/** The updates of a call on a manual clock, and what its subscribers receive. */
function updatesOf({ isOpen = true } = {}) {
  const told: ToolUpdate["progress"][] = [];
  const clock = manualClock();
  const feed: UpdateFeed = { isOpen, take: ({ progress }) => told.push(progress), end: () => undefined };
  return { told, clock, updates: new ToolUpdates({ feed, clock, tool: "read", callId: "c1" }) };
}

test("close updates are merged into the newest, at most ten a second", async () => {
  const { told, clock, updates } = updatesOf();
  for (let ms = 0; ms < 1_000; ms += 1) {
    updates.update(ms);
    await clock.advance(1);
  }
  expect(told.length).toBeLessThanOrEqual(11);
  expect(told.slice(0, 3)).toEqual([0, 99, 199]);
  await clock.advance(100);
  expect(told.at(-1)).toBe(999);
});

test("a call that has ended sends no more updates", async () => {
  const { told, clock, updates } = updatesOf();
  updates.update(1);
  updates.update(2);
  updates.end();
  updates.update(3);
  await clock.advance(1_000);
  expect(told).toEqual([1]);
});

test("an update that is too large or not JSON is replaced by the reason", async () => {
  const { told, clock, updates } = updatesOf();
  for (const progress of ["x".repeat(5_000), { at: 1n }, undefined]) {
    updates.update(progress);
    await clock.advance(100);
  }
  expect(told).toEqual([
    "[an update of 5002 bytes: at most 4096 are allowed]",
    "[an update that cannot be encoded as JSON: it.at is a bigint]",
    null,
  ]);
});

test("without a reader an update is not even encoded", () => {
  const { told, updates } = updatesOf({ isOpen: false });
  const progress = {
    toJSON: (): never => {
      throw new Error("encoded");
    },
  };
  updates.update(progress);
  expect(told).toEqual([]);
});

/** An agent whose tool reports progress before it returns. */
function reader(tell: (call: EffectCall) => void) {
  const read = tool({
    name: "read",
    description: "Reads",
    input: z.object({}),
    risk: "safe",
    execute: (_, given) => {
      tell(given);
      return "read";
    },
  });
  return agent({ name: "reader", model: scriptedModel([call("read", {}), say("done")]), tools: [read] });
}

test.each([true, false])(
  "a stream has the progress of tools, each once (replayed: %s)",
  async (replayEveryStep) => {
    const lead = reader(({ update }) => update({ pages: 3 }));
    await using runtime = createRuntime({
      agents: [lead],
      store: memoryStore(),
      engine: local({ replayEveryStep }),
    });
    const talk = await runtime.sessions.create(lead);
    const pieces = await readAll(talk.stream("go"));
    expect(pieces.flatMap(({ update }) => (update ? [update] : []))).toEqual([
      { tool: "read", callId: "call-1", progress: { pages: 3 } },
    ]);
    expect(pieces.map(({ text }) => text).join("")).toBe("");
  },
);

/** Returns the events of a turn in which the tool reports progress. */
async function eventsOf(tell: (call: EffectCall) => void): Promise<readonly NumberedEvent[]> {
  const lead = reader(tell);
  await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
  const run = await runtime.start(lead, "go");
  await readAll(run.deltas());
  return await readAll(run.events());
}

test("updates are not events and are not recorded", async () => {
  const many = await eventsOf(({ update }) => {
    for (let n = 0; n < 1_000; n += 1) update(`canary ${n}`);
  });
  expect(JSON.stringify(many)).not.toContain("canary");
  expect(many).toHaveLength((await eventsOf(() => undefined)).length);
});
