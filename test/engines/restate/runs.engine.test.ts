import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Engine,
  Json,
  type Operation,
  type ExecutionPrimitives,
  ReplayDivergenceError,
  TooLargeError,
} from "#kernel";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { fresh, inTurn, launch, program, settle, waitUntil } from "./counter-program.ts";

let server: RestateServer;
let engine: Engine;

beforeAll(async () => {
  server = await restateServer();
  // Every wait is a replay.
  engine = restate({ ingress: server.ingress, admin: server.admin, inactivityTimeoutMs: 0, log: () => {} });
  engine.define(program);
  await engine.serve({ port: 0 });
});

afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const count = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);

test("steps run once and keep their results, although the run is replayed after each", async () => {
  let attempts = 0;
  const executed: number[] = [];
  const seen: Json[][] = [];
  const { result } = await launch(engine, async (primitives) => {
    attempts += 1;
    const values: Json[] = [];
    seen.push(values);
    await inTurn(count(5), async (number) => {
      const step = primitives.step(`step ${number}`, async () => {
        executed.push(number);
        return Math.random();
      });
      values.push(await settle(primitives, step));
    });
    return values;
  });
  const values = await result;
  expect(executed).toEqual([0, 1, 2, 3, 4]);
  expect(attempts).toBeGreaterThan(5);
  for (const earlier of seen) expect(earlier).toEqual(values.slice(0, earlier.length));
});

test("calls to objects happen once, although the run is replayed after each", async () => {
  let attempts = 0;
  const { tree, result } = await launch(engine, async (primitives) => {
    attempts += 1;
    return inTurn([1, 2, 3], (amount) =>
      settle(primitives, primitives.call(primitives.launch.tree, "add", amount)),
    );
  });
  expect(await result).toEqual([1, 3, 6]);
  expect(await engine.call(tree, "total", null)).toBe(6);
  expect(attempts).toBeGreaterThan(3);
});

test("a call that is refused ends with the method's error", async () => {
  const object = fresh();
  const { result } = await launch(engine, async (primitives) => {
    const { outcome } = await primitives.race(new Set([primitives.call(object, "addAndThrow", 1)]));
    return outcome;
  });
  expect(await result).toMatchObject({ ok: false, error: { code: "id-conflict", id: object.key } });
});

test("race returns the same winners in the same order on every replay", async () => {
  const order = [3, 1, 5, 0, 2, 4];
  const ended = order.map(() => Promise.withResolvers<void>());
  const attempts: string[][] = [];
  const { tree, result } = await launch(engine, async (primitives) => {
    const winners: string[] = [];
    attempts.push(winners);
    const open = new Map<Operation, string>();
    for (const number of count(6)) {
      const step = primitives.step(`step ${number}`, async () => {
        // Ends only after the one before it in `order`.
        await ended[order.indexOf(number) - 1]?.promise;
        ended[order.indexOf(number)]?.resolve();
        return number;
      });
      open.set(step, `step ${number}`);
      open.set(primitives.call(primitives.launch.tree, "say", number), `call ${number}`);
    }
    open.set(primitives.sleepUntil(0), "sleep");
    await inTurn([...open], async () => {
      const winner = await primitives.race(new Set(open.keys()));
      winners.push(open.get(winner) ?? "?");
      open.delete(winner);
      await primitives.flushMicrotasks();
    });
    return winners;
  });
  const winners = await result;
  expect(winners.toSorted()).toEqual(
    [...count(6).flatMap((n) => [`call ${n}`, `step ${n}`]), "sleep"].toSorted(),
  );
  expect(attempts.length).toBeGreaterThan(2);
  for (const earlier of attempts) expect(earlier).toEqual(winners.slice(0, earlier.length));
  expect(await engine.call(tree, "words", null)).toHaveLength(6);
});

test("an early wake-up is kept under its name until it is waited for", async () => {
  const woken = Promise.withResolvers<Json>();
  const { tree, execution, result } = await launch(engine, async (primitives) => {
    await settle(
      primitives,
      primitives.step("be busy", () => woken.promise),
    );
    await settle(primitives, primitives.wake("second"));
    await settle(primitives, primitives.wake("first"));
    return "both";
  });
  await engine.call(tree, "wake", { execution, name: "first" });
  await engine.call(tree, "wake", { execution, name: "second" });
  woken.resolve(null);
  expect(await result).toBe("both");
});

test("a wake-up ends the wait of a run that is not in memory", async () => {
  const { tree, execution, result } = await launch(engine, async (primitives) => {
    await settle(primitives, primitives.call(primitives.launch.tree, "say", "waiting"));
    await settle(primitives, primitives.wake("now"));
    return "woken";
  });
  await waitUntil<Json[]>(engine, tree, "words", (words) => words.length > 0);
  await engine.call(fresh(), "wake", { execution, name: "now" });
  expect(await result).toBe("woken");
});

test("a sleep ends at its time, and at once if that time has passed", async () => {
  const at = Date.now() + 300;
  const { result } = await launch(engine, async (primitives) => {
    const open = [primitives.sleepUntil(at), primitives.sleepUntil(at - 100_000)];
    const first = await primitives.race(new Set(open));
    await settle(primitives, primitives.sleepUntil(at));
    return { first: open.indexOf(first), at: Date.now() };
  });
  const { first, at: woken } = await result;
  expect(first).toBe(1);
  expect(woken).toBeGreaterThanOrEqual(at);
});

test("a cancelled run gets one error, and can continue: call, run steps, wait", async () => {
  const started = Promise.withResolvers<void>();
  const { tree, execution, result } = await launch(engine, async (primitives) => {
    const cancelled = primitives.waitForCancel();
    started.resolve();
    const never = primitives.wake("never");
    const winner = await primitives.race(new Set([never, cancelled]));
    const total = await settle(primitives, primitives.call(primitives.launch.tree, "add", 1));
    const step = await settle(
      primitives,
      primitives.step("compensate", async () => "compensated"),
    );
    await settle(primitives, primitives.sleepUntil(0));
    return { isCancelled: winner === cancelled, total, step };
  });
  await started.promise;
  await engine.call(tree, "cancel", execution);
  expect(await result).toEqual({ isCancelled: true, total: 1, step: "compensated" });
});

test("a step aborted before its start gets an aborted signal", async () => {
  const { result } = await launch(engine, async (primitives) => {
    const step = primitives.step("work", async ({ signal }) => String(signal.reason));
    step.cancel(new RangeError("enough"));
    return settle(primitives, step);
  });
  expect(await result).toBe("RangeError: enough");
});

test("a step that throws runs again, and one beside it does not", async () => {
  const broken = Promise.withResolvers<Json>();
  const executed = { thrower: 0, other: 0 };
  const attempts = new Set<string>();
  const { result } = await launch(engine, async (primitives) => {
    const thrower = primitives.step("thrower", async ({ attempt }) => {
      attempts.add(attempt);
      executed.thrower += 1;
      if (executed.thrower < 3) throw new Error("the network is down");
      broken.resolve("never twice");
      return null;
    });
    const other = primitives.step("other", async () => {
      executed.other += 1;
      return broken.promise;
    });
    await primitives.race(new Set([thrower, other]));
    await primitives.race(new Set([thrower.outcome ? other : thrower]));
    return other.outcome;
  });
  expect(await result).toEqual({ ok: true, value: "never twice" });
  expect(executed).toEqual({ thrower: 3, other: 1 });
  expect(attempts.size).toBe(3);
});

test("a step calls objects without a journal, and gets their errors", async () => {
  const object = fresh();
  const { result } = await launch(engine, async (primitives) =>
    settle(
      primitives,
      primitives.step("gate", async (io) => {
        const error: unknown = await io.call(object, "addAndThrow", 1).catch((thrown: unknown) => thrown);
        return [await io.call(object, "add", 1), String(error)];
      }),
    ),
  );
  expect(await result).toEqual([
    1,
    `Error: ${object.key} was started with another agent, input, user or conversation, or with other limits, rules, labels, retention or priority: use another id`,
  ]);
});

test("leaving memory triggers no catch or finally of a run", async () => {
  const seen: string[] = [];
  const { result } = await launch(engine, async (primitives) => {
    try {
      await settle(primitives, primitives.call(primitives.launch.tree, "add", 1));
      await settle(
        primitives,
        primitives.step("step", async () => null),
      );
      await settle(primitives, primitives.sleepUntil(Date.now() + 50));
    } catch (error) {
      seen.push(String(error));
    } finally {
      seen.push("finally");
    }
  });
  await result;
  expect(seen).toEqual(["finally"]);
});

test("each execution of a run has its own epoch", async () => {
  const epochs: string[] = [];
  const { result } = await launch(engine, async (primitives) => {
    epochs.push(primitives.epoch.id);
    await inTurn(count(3), (number) =>
      settle(
        primitives,
        primitives.step(`step ${number}`, async () => null),
      ),
    );
  });
  await result;
  expect(epochs.length).toBeGreaterThan(3);
  expect(new Set(epochs).size).toBe(epochs.length);
});

test("a run that diverges from its journal is paused", async () => {
  let attempts = 0;
  const diverging = await launch(engine, async (primitives) => {
    attempts += 1;
    if (attempts > 1) await settle(primitives, primitives.call(primitives.launch.tree, "add", 1));
    await settle(
      primitives,
      primitives.step("step", async () => null),
    );
    await settle(primitives, primitives.wake("never"));
  });
  const admitting = await launch(engine, async () => {
    throw new ReplayDivergenceError({ step: "a step" });
  });
  await expect.poll(() => statusOf(diverging.execution)).toBe("paused");
  await expect.poll(() => statusOf(admitting.execution)).toBe("paused");
  const diverged = { kind: "diverged", retryAt: null };
  for (const { execution } of [diverging, admitting])
    await expect.poll(async () => engine.blocker?.(execution)).toMatchObject(diverged);
});

test("the error that blocks a run is reported without its message", async () => {
  const large = await launch(engine, async () => {
    throw new TooLargeError({ what: "a message", bytes: 9, limit: 8 });
  });
  const failing = await launch(engine, async () => {
    throw new TypeError("the secret is 42");
  });
  const blocker = async (execution: string): Promise<unknown> => engine.blocker?.(execution);
  await expect
    .poll(() => blocker(large.execution))
    .toMatchObject({ kind: "too-large", lastError: "a message has 9 bytes: at most 8 are possible" });
  await expect
    .poll(() => blocker(failing.execution))
    .toMatchObject({ kind: "failing", lastError: "TypeError: its text is in the log of the worker" });
});

test("a run that throws is executed again from its journal", async () => {
  let attempts = 0;
  let executed = 0;
  const { result } = await launch(engine, async (primitives: ExecutionPrimitives) => {
    const step = primitives.step("step", async () => (executed += 1));
    await settle(primitives, step);
    attempts += 1;
    if (attempts < 3) throw new Error("the worker is ill");
    return attempts;
  });
  expect(await result).toBe(3);
  expect(executed).toBe(1);
});

async function statusOf(execution: string): Promise<unknown> {
  const answer = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: `SELECT status FROM sys_invocation WHERE id = '${execution}'` }),
  });
  const { rows } = Json.as<{ rows: { status: string }[] }>(Json.of(await answer.json()));
  return rows[0]?.status;
}
