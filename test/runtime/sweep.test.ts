import { AgentId, createRuntime, type Agent } from "reeve";
import type { Engine } from "reeve/engine";
import { local } from "reeve/engines/local";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { RuntimeClosedError } from "#kernel";

const idle: Agent = { id: AgentId.of("idle"), run: async () => null };

/** A local engine that reports these trees as stopped. Each answers a sweep as `answer` says. */
function stage(trees: readonly string[], answer: (tree: string) => Promise<boolean>) {
  const clock = manualClock();
  const asked: string[] = [];
  const engine: Engine = {
    ...local({ clock }),
    findBlocked: async () =>
      trees.map((tree) => ({
        tree: { type: "tree", key: `-/${tree}` },
        execution: tree,
        blocker: { kind: "stopped", lastError: "stopped", build: null, retryAt: null },
      })),
    call: async ({ key }) => {
      asked.push(key.slice(2));
      return answer(key.slice(2));
    },
  };
  return { clock, asked, runtime: createRuntime({ agents: [idle], engine, clock, sweepEveryS: 60 }) };
}

const never = (): Promise<never> => new Promise(() => {});
const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a tree that does not answer keeps no other from being asked, and is asked again", async () => {
  const { clock, asked, runtime } = stage(["hung", "broken", "fine"], async (tree) => {
    if (tree === "hung") return never();
    if (tree === "broken") throw new Error("the tree is broken");
    return true;
  });
  await using _ = runtime;
  const failure = runtime.sweep().catch((error: unknown) => error);
  await settle();
  expect(asked).toEqual(["hung", "broken", "fine"]);
  await clock.advance(10_000);
  const error = await failure;
  expect(error).toBeInstanceOf(AggregateError);
  expect(error).toMatchObject({
    message: "2 of 3 trees with a stopped run failed",
    errors: [
      { message: "the tree is broken" },
      { message: "the tree -/hung has not answered the sweep within 10000 ms" },
    ],
  });
  const again = runtime.sweep().catch(() => undefined);
  await settle();
  expect(asked.slice(3)).toEqual(["hung", "broken"]);
  await clock.advance(10_000);
  await again;
});

test("at most 8 trees are asked at the same time, and all of them in the end", async () => {
  const open: (() => void)[] = [];
  const { asked, runtime } = stage(names, () => new Promise((resolve) => open.push(() => resolve(true))));
  await using _ = runtime;
  const swept = runtime.sweep();
  await expect.poll(() => asked.length).toBe(8);
  while (open.length > 0) {
    open.shift()?.();
    await settle();
    expect(open.length).toBeLessThanOrEqual(8);
  }
  expect(await swept).toBe(20);
  expect(asked).toEqual(names);
});

test("a worker begins its next round only after the last has ended, and none once it is closed", async () => {
  const { clock, asked, runtime } = stage(names, never);
  await runtime.serve({ port: 0 });
  await clock.advance(60_000);
  // 20 trees that do not answer, 8 at a time, 10 s each.
  expect(asked).toHaveLength(8);
  await clock.advance(20_000);
  expect(asked).toEqual(names);
  await clock.advance(69_000);
  expect(asked).toHaveLength(20);
  await clock.advance(1_000);
  expect(asked).toHaveLength(28);
  const refused = runtime.sweep().catch((error: unknown) => error);
  await runtime[Symbol.asyncDispose]();
  expect(await refused).toBeInstanceOf(RuntimeClosedError);
  await clock.advance(600_000);
  expect(asked).toHaveLength(28);
});
