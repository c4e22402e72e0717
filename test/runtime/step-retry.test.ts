import { AgentId, RetryableError, type Agent } from "reeve";
import { local } from "reeve/engines/local";
import { manualClock } from "reeve/testing";
import { describe, expect, test } from "vitest";
import { Runtime } from "#runtime";

interface Scene {
  readonly triedAt: readonly number[];
  readonly output: () => Promise<unknown>;
  readonly advance: (ms: number) => Promise<void>;
  readonly countWaiting: () => number;
}

/** A step that fails `failures` times, on a manual clock. */
async function failing(
  failures: number,
  options: { readonly replayEveryStep: boolean; readonly baseMs: number; readonly retryAfterMs?: number },
): Promise<Scene> {
  const clock = manualClock(0);
  const triedAt: number[] = [];
  const { replayEveryStep, baseMs, retryAfterMs = null } = options;
  const flaky = (): string => {
    if (triedAt.push(clock.now()) <= failures) throw new RetryableError({ message: "not now", retryAfterMs });
    return "through";
  };
  const agent: Agent = {
    id: AgentId.of("agent"),
    run: (ctx) => ctx.step("flaky", flaky, { retry: { baseMs } }),
  };
  const runtime = new Runtime({ agents: [agent], engine: local({ clock, replayEveryStep }), clock });
  const run = await runtime.start(agent, "go");
  return {
    triedAt,
    output: async () => (await run.result()).output,
    advance: (ms) => clock.advance(ms),
    countWaiting: () => clock.waiting,
  };
}

describe.each([false, true])("a step that fails temporarily (replayed: %s)", (replayEveryStep) => {
  test("is tried again after 2, 4 and 8 seconds: short delays inside the step, long ones durably", async () => {
    const { triedAt, output, advance, countWaiting } = await failing(3, { replayEveryStep, baseMs: 2_000 });
    await expect.poll(() => triedAt).toEqual([0]);
    await expect.poll(countWaiting).toBe(1);
    await advance(1_999);
    expect(triedAt).toEqual([0]);
    await advance(1);
    await expect.poll(() => triedAt).toEqual([0, 2_000]);
    await expect.poll(countWaiting).toBe(1);
    await advance(4_000);
    await expect.poll(() => triedAt).toEqual([0, 2_000, 6_000]);
    await expect.poll(countWaiting).toBe(1);
    await advance(7_999);
    expect(triedAt).toHaveLength(3);
    await advance(1);
    expect(await output()).toBe("through");
    expect(triedAt).toEqual([0, 2_000, 6_000, 14_000]);
  });

  test("waits for the requested retry time, up to a minute", async () => {
    const { triedAt, output, advance, countWaiting } = await failing(1, {
      replayEveryStep,
      baseMs: 1,
      retryAfterMs: 3_600_000,
    });
    await expect.poll(countWaiting).toBe(1);
    await advance(59_999);
    expect(triedAt).toEqual([0]);
    await advance(1);
    expect(await output()).toBe("through");
    expect(triedAt).toEqual([0, 60_000]);
  });
});
