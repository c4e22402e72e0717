import { afterAll, beforeAll, expect, test } from "vitest";
import { IdConflictError, type Engine, type Json } from "#kernel";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { measureLostTime } from "../../lost-time.ts";
import { countTries } from "./count-tries.ts";
import { fresh, inTurn, launch, program, settle } from "./counter-program.ts";

/** Well above the delays of a busy host: a heartbeat must come before it. */
const inactivityTimeoutMs = 2_000;

let server: RestateServer;
let engine: Engine;

/** By object and method. */
const tries = new Map<string, number>();

beforeAll(async () => {
  server = await restateServer();
  engine = countTries(restate({ ingress: server.ingress, admin: server.admin, inactivityTimeoutMs }), tries);
  engine.define(program);
  await engine.serve({ port: 0 });
});

afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test("an aborted step sees the reason and still has a result", async () => {
  const started = Promise.withResolvers<void>();
  const { tree, execution, result } = await launch(engine, async (primitives) => {
    const step = primitives.step("work", async ({ signal }) => {
      started.resolve();
      await waitForAbort(signal);
      return String(signal.reason);
    });
    await primitives.race(new Set([step, primitives.wake("stop")]));
    step.cancel(new RangeError("enough"));
    return settle(primitives, step);
  });
  await started.promise;
  await engine.call(tree, "wake", { execution, name: "stop" });
  expect(await result).toBe("RangeError: enough");
});

test("a step that still runs when its run ends is aborted", async () => {
  const begun = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const { result } = await launch(engine, async (primitives) => {
    const slow = primitives.step("slow", async ({ signal }) => {
      begun.resolve();
      await waitForAbort(signal);
      stopped.resolve();
      return null;
    });
    // The SDK may start the second step first.
    const quick = primitives.step("quick", () => begun.promise.then(() => null));
    return (await primitives.race(new Set([slow, quick]))) === quick;
  });
  expect(await result).toBe(true);
  await stopped.promise;
});

test("a call from an aborted step does not hang", async () => {
  const calling = Promise.withResolvers<void>();
  const { tree, execution, result } = await launch(engine, async (primitives) => {
    const step = primitives.step("gate", async (io) => {
      const answer = io.call(fresh(), "hang", null).catch(String);
      calling.resolve();
      return answer;
    });
    await primitives.race(new Set([step, primitives.wake("stop")]));
    step.cancel(new RangeError("enough"));
    return settle(primitives, step);
  });
  await calling.promise;
  await engine.call(tree, "wake", { execution, name: "stop" });
  expect(await result).toBe("RangeError: enough");
});

test("a run still gets messages during a step longer than the inactivity timeout", async () => {
  const end = Date.now() + 4 * inactivityTimeoutMs;
  const lost = measureLostTime();
  let attempts = 0;
  const { result } = await launch(engine, async (primitives) => {
    attempts += 1;
    const step = primitives.step("work", async ({ signal }) => {
      await waitForAbort(signal);
      return String(signal.reason);
    });
    const timer = primitives.sleepUntil(end);
    const winner = await primitives.race(new Set([step, timer]));
    step.cancel(new RangeError("enough"));
    return [winner === timer, await settle(primitives, step)];
  });
  expect(await result).toEqual([true, "RangeError: enough"]);
  // A worker without a processor misses its heartbeats.
  const isStarved = lost() > inactivityTimeoutMs / 3;
  expect(isStarved || attempts === 1, `${attempts} attempts`).toBe(true);
});

test("an execution that is restarted after every operation does nothing twice", async () => {
  const fuzzed = restate({ ...server, namespace: "fuzzed", replayEveryStep: true });
  fuzzed.define(program);
  await fuzzed.serve({ port: 0 });
  const asked = Promise.withResolvers<Json>();
  const executed: string[] = [];
  let attempts = 0;
  const { tree, execution, result } = await launch(fuzzed, async (primitives) => {
    attempts += 1;
    const slow = primitives.step("slow", () => {
      executed.push("slow");
      return asked.promise;
    });
    const quick = primitives.step("quick", async () => executed.push("quick"));
    const total = primitives.call(primitives.launch.tree, "add", 1);
    const open = new Set([slow, quick, total, primitives.wake("go")]);
    await inTurn([...open], async () => open.delete(await primitives.race(open)));
    return [slow.outcome, total.outcome];
  });
  await fuzzed.call(tree, "wake", { execution, name: "go" });
  asked.resolve("asked");
  expect(await result).toEqual([
    { ok: true, value: "asked" },
    { ok: true, value: 1 },
  ]);
  expect(executed.toSorted()).toEqual(["quick", "slow"]);
  expect(attempts).toBe(5);
  await fuzzed[Symbol.asyncDispose]();
});

/** A step that is cancelled before its closure runs gets an aborted signal. */
function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

test("concurrent calls from steps of several runs are sent together, and each gets its own answer", async () => {
  const shared = fresh();
  const count = 24;
  const all = Promise.withResolvers<void>();
  let begun = 0;
  const launched = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      launch(engine, async (primitives) => {
        const step = primitives.step("call", async (io) => {
          begun += 1;
          if (begun === count) all.resolve();
          await all.promise;
          const method = index % 3 === 0 ? "addAndThrow" : "add";
          return io
            .call(shared, method, 1)
            .catch((error: unknown) => (error instanceof IdConflictError ? "refused" : null));
        });
        return settle(primitives, step);
      }),
    ),
  );
  const replies = await Promise.all(launched.map(({ result }) => result));
  expect(replies.filter((reply) => reply === "refused")).toHaveLength(8);
  const totals = replies.filter((reply) => typeof reply === "number");
  expect(totals.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: 16 }, (_, index) => index + 1),
  );
  // Calls that throw leave neither state nor messages.
  expect(await engine.call(shared, "total", null)).toBe(16);
  expect(await engine.call({ ...shared, key: `${shared.key}-other` }, "total", null)).toBe(null);
  expect(tries.get("counter/batch")).toBeGreaterThan(0);
});
