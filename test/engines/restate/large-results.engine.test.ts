import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentId, type Agent, Runtime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { type Engine, Json, TooLargeError } from "#kernel";
import { fresh, inTurn, launch, program, settle } from "./counter-program.ts";
import { isFull } from "../../effort.ts";

let server: RestateServer;
let engine: Engine;

beforeAll(async () => {
  server = await restateServer();
  // After each operation the execution is discarded, so every value is read from the journal.
  engine = restate({ ...server, replayEveryStep: true });
  engine.define(program);
  await engine.serve({ port: 0 });
});

afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Text that differs at every place. */
const textOf = (bytes: number): string =>
  Array.from({ length: bytes / 10 }, (_, index) => String(index).padStart(10, ".")).join("");

test.each(isFull ? [0.9, 5, 40] : [0.9, 5])(
  "a result of %d MB is available on every replay, and its step runs once",
  async (megabytes) => {
    const text = textOf(megabytes * 1_000_000);
    let executed = 0;
    let attempts = 0;
    const { result } = await launch(engine, async (primitives) => {
      attempts += 1;
      const step = primitives.step("large", async () => {
        executed += 1;
        return { text };
      });
      const value = await settle(primitives, step);
      await settle(
        primitives,
        primitives.step("small", async () => "small"),
      );
      return value;
    });
    expect(Json.as<{ text: string }>(await result).text === text).toBe(true);
    expect(executed).toBe(1);
    expect(attempts).toBe(3);
  },
);

test("concurrent large results do not mix", async () => {
  const executed: number[] = [];
  const { result } = await launch(engine, async (primitives) => {
    const steps = [1, 2, 3].map((number) =>
      primitives.step(`step ${number}`, async () => {
        executed.push(number);
        return String(number).repeat(2_000_000);
      }),
    );
    const open = new Set(steps);
    await inTurn(steps, async () => open.delete(await primitives.race(open)));
    return steps.map(({ outcome }) => (outcome?.ok ? Json.as<string>(outcome.value).slice(0, 2) : outcome));
  });
  expect(await result).toEqual(["11", "22", "33"]);
  expect(new Set(executed)).toEqual(new Set([1, 2, 3]));
  expect(executed).toHaveLength(3);
});

test("stored parts are deleted a day after their run ends, like the journal", async () => {
  const { tree, result } = await launch(engine, async (primitives) =>
    settle(
      primitives,
      primitives.step("large", async () => "x".repeat(2_500_000)),
    ),
  );
  await result;
  const content = { type: "content", key: tree.key };
  await expect.poll(() => scheduledRemovals(tree.key)).toBe(1);
  const [part = ""] = await namesOf(tree.key);
  const [, name = ""] = part.split("/");
  const get = (): Promise<Json> => engine.call(content, "get", { name, part: 0 });
  expect(JSON.stringify(await get()).length).toBeGreaterThan(2_500_000);
  await engine.call(content, "remove", { names: [name] });
  expect(await get()).toBe(null);
});

test("content refuses callers at the ingress without a key", async () => {
  const { tree, result } = await launch(engine, async (primitives) =>
    settle(
      primitives,
      primitives.step("large", async () => "x".repeat(2_500_000)),
    ),
  );
  await result;
  const names = await namesOf(tree.key);
  expect(names).toHaveLength(1);
  const [, name = ""] = (names[0] ?? "").split("/");
  const object = `${server.ingress}/reeve.content/${encodeURIComponent(tree.key)}`;
  const argument = JSON.stringify({ name, part: 0, base64: "AAAA", names: [name] });
  for (const method of ["put", "get", "has", "remove", "close", "claim", "expire"]) {
    const headers = { "content-type": "application/octet-stream" };
    const answer = await fetch(`${object}/${method}`, { method: "POST", headers, body: argument });
    expect([method, answer.ok]).toEqual([method, false]);
  }
  expect(await namesOf(tree.key)).toEqual(names);
  const kept = await engine.call({ type: "content", key: tree.key }, "get", { name, part: 0 });
  expect(JSON.stringify(kept).length).toBeGreaterThan(2_500_000);
});

test("a result over the limit fails its step permanently, with its size in the error", async () => {
  let executed = 0;
  const { result } = await launch(engine, async (primitives) => {
    const step = primitives.step("huge", async () => {
      executed += 1;
      return "x".repeat(70_000_000);
    });
    return (await primitives.race(new Set([step]))).outcome;
  });
  const outcome = await result;
  expect(outcome).toMatchObject({ ok: false, error: { code: "too-large", limit: 64_000_000 } });
  expect(outcome?.ok === false && Number(outcome.error["bytes"])).toBeGreaterThan(70_000_000);
  expect(executed).toBe(1);
});

test("a result that JSON cannot hold fails its step permanently", async () => {
  let executed = 0;
  const { result } = await launch(engine, async (primitives) => {
    const step = primitives.step("odd", async () => {
      executed += 1;
      return Json.of(10n);
    });
    return (await primitives.race(new Set([step]))).outcome;
  });
  expect(await result).toMatchObject({ ok: false, error: { code: "foreign", kind: "TypeError" } });
  expect(executed).toBe(1);
});

test("a call too large for Restate is refused at once, from a run and from outside", async () => {
  const huge = "x".repeat(31_000_000);
  const { result } = await launch(engine, async (primitives) => {
    const refused = primitives.call(primitives.launch.tree, "say", huge);
    await primitives.flushMicrotasks();
    const { outcome } = await primitives.race(new Set([refused]));
    await settle(primitives, primitives.call(primitives.launch.tree, "say", "small"));
    return outcome;
  });
  expect(await result).toMatchObject({ ok: false, error: { code: "too-large", limit: 30_000_000 } });
  await expect(engine.call(fresh(), "say", huge)).rejects.toThrow(TooLargeError);
});

test("a value too large for the state fails its caller, and the object continues", async () => {
  const object = fresh();
  await engine.call(object, "say", "x".repeat(9_000_000));
  await expect(engine.call(object, "say", "x".repeat(9_000_000))).rejects.toThrow(TooLargeError);
  await engine.call(object, "say", "small");
  expect(await engine.call(object, "words", null)).toHaveLength(2);
});

test("a run may return five megabytes, from a step of its own", async () => {
  const text = textOf(5_000_000);
  const reader: Agent = {
    id: AgentId.of("reader"),
    run: async (ctx) => ctx.step("read", () => text),
  };
  const agents = restate({ ...server, namespace: "agents", log: () => {} });
  await using runtime = new Runtime({ agents: [reader], engine: agents });
  await runtime.serve({ port: 0 });
  const { status, output } = await (await runtime.start(reader, "go")).result();
  expect(status).toBe("completed");
  expect(output === text).toBe(true);
});

async function scheduledRemovals(partition: string): Promise<number> {
  const rows = await query(
    "SELECT target_service_key AS key FROM sys_invocation WHERE target_service_name = 'reeve.content' " +
      "AND target_handler_name = 'remove' AND status = 'scheduled'",
  );
  return rows.filter(({ key }) => key === partition).length;
}

/** The names of the content that a partition has. */
async function namesOf(partition: string): Promise<readonly string[]> {
  const rows = await query("SELECT service_key, key FROM state WHERE service_name = 'reeve.content'");
  return rows.filter(({ service_key: owner }) => owner === partition).map(({ key }) => key);
}

async function query(
  text: string,
): Promise<readonly { readonly service_key: string; readonly key: string }[]> {
  const answer = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query: text }),
  });
  return Json.as<{ rows: { service_key: string; key: string }[] }>(Json.of(await answer.json())).rows;
}
