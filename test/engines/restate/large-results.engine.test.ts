import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentId, type Agent, Runtime } from "reeve";
import { type RestateServer, restate, restateServer } from "reeve/engines/restate";
import { type Engine, Json, TooLargeError } from "#kernel";
import { fresh, inTurn, launch, program, settle } from "./counter-program.ts";

let server: RestateServer;
let engine: Engine;

beforeAll(async () => {
  server = await restateServer();
  // After each operation the execution is thrown away: whatever is read is read from the journal.
  engine = restate({ ...server, fuzz: true });
  engine.define(program);
  await engine.serve({ port: 0 });
}, 60_000);

afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Text that differs at every place. */
const textOf = (bytes: number): string =>
  Array.from({ length: bytes / 10 }, (_, index) => String(index).padStart(10, ".")).join("");

test.each([0.9, 5, 40])(
  "a result of %d MB is there on every replay, and its step ran once",
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
  120_000,
);

test("large results side by side are each told as themselves", async () => {
  const executed: number[] = [];
  const { result } = await launch(engine, async (primitives) => {
    const steps = [1, 2, 3].map((number) =>
      primitives.step(`step ${number}`, async () => {
        executed.push(number);
        return String(number).repeat(2_000_000);
      }),
    );
    const open = new Set(steps);
    await inTurn(steps, async () => open.delete(await primitives.pick([...open])));
    return steps.map(({ outcome }) => (outcome?.ok ? Json.as<string>(outcome.value).slice(0, 2) : outcome));
  });
  expect(await result).toEqual(["11", "22", "33"]);
  expect(new Set(executed)).toEqual(new Set([1, 2, 3]));
  expect(executed).toHaveLength(3);
}, 60_000);

test("what was laid aside goes a day after its run has ended, as the journal does", async () => {
  const { tree, result } = await launch(engine, async (primitives) =>
    settle(
      primitives,
      primitives.step("large", async () => "x".repeat(2_500_000)),
    ),
  );
  await result;
  const parts = (): Promise<readonly string[]> => scheduledRemovals(tree.key);
  await expect.poll(parts, { timeout: 10_000 }).toHaveLength(3);
  const blob = `${server.ingress}/reeve.blob/${encodeURIComponent((await parts())[0] ?? "")}`;
  const ask = async (method: string): Promise<number> => {
    const headers = { "content-type": "application/octet-stream" };
    const answer = await fetch(`${blob}/${method}`, { method: "POST", headers, body: "" });
    expect(answer.ok).toBe(true);
    return (await answer.arrayBuffer()).byteLength;
  };
  expect(await ask("get")).toBe(1_000_000);
  await ask("remove");
  expect(await ask("get")).toBe(0);
});

test("a result over the limit fails its step for good and says how large it was", async () => {
  let executed = 0;
  const { result } = await launch(engine, async (primitives) => {
    const step = primitives.step("huge", async () => {
      executed += 1;
      return "x".repeat(70_000_000);
    });
    return (await primitives.pick([step])).outcome;
  });
  const outcome = await result;
  expect(outcome).toMatchObject({ ok: false, error: { code: "too-large", limit: 64_000_000 } });
  expect(outcome?.ok === false && Number(outcome.error["bytes"])).toBeGreaterThan(70_000_000);
  expect(executed).toBe(1);
}, 60_000);

test("a result that JSON cannot hold fails its step for good", async () => {
  let executed = 0;
  const { result } = await launch(engine, async (primitives) => {
    const step = primitives.step("odd", async () => {
      executed += 1;
      return Json.of(10n);
    });
    return (await primitives.pick([step])).outcome;
  });
  expect(await result).toMatchObject({ ok: false, error: { code: "foreign", kind: "TypeError" } });
  expect(executed).toBe(1);
});

test("a call that Restate could not pass on is refused at once, from a run and from outside", async () => {
  const huge = "x".repeat(31_000_000);
  const { result } = await launch(engine, async (primitives) => {
    const refused = primitives.call(primitives.launch.tree, "say", huge);
    await primitives.drain();
    const { outcome } = await primitives.pick([refused]);
    await settle(primitives, primitives.call(primitives.launch.tree, "say", "small"));
    return outcome;
  });
  expect(await result).toMatchObject({ ok: false, error: { code: "too-large", limit: 30_000_000 } });
  await expect(engine.call(fresh(), "say", huge)).rejects.toThrow(TooLargeError);
}, 60_000);

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
}, 60_000);

async function scheduledRemovals(partition: string): Promise<readonly string[]> {
  const query =
    "SELECT target_service_key FROM sys_invocation WHERE target_service_name = 'reeve.blob' " +
    "AND target_handler_name = 'remove' AND status = 'scheduled' ORDER BY target_service_key";
  const answer = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows } = Json.as<{ rows: { target_service_key: string }[] }>(Json.of(await answer.json()));
  return rows.map((row) => row.target_service_key).filter((key) => key.startsWith(partition));
}
