import {
  AgentId,
  delegateEngine,
  Json,
  NotFoundError,
  RetryableError,
  type Agent,
  type Engine,
} from "#kernel";
import { Runtime, type RuntimeOptions, type ScheduleOptions } from "#runtime";
import { local } from "reeve/engines/local";
import { createApiKey } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { manualClock, type ManualClock } from "reeve/testing";
import { expect, test } from "vitest";

const hour = 3_600_000;

/** An agent that notes the tick and the user of each of its trees. */
function noting(run: Agent["run"] = async () => null): {
  readonly agent: Agent;
  readonly trees: Map<string, string>;
} {
  const trees = new Map<string, string>();
  const agent: Agent = {
    id: AgentId.of("report"),
    run: (ctx, inbox) => {
      const { metadata = {}, userId = null } = ctx.meta.scope ?? {};
      trees.set(ctx.supervision.treeId, `${JSON.stringify(metadata["tick"]).slice(12, 17)} ${userId ?? "-"}`);
      return run(ctx, inbox);
    },
  };
  return { agent, trees };
}

interface Stage extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly clock: ManualClock;
}

function stage(
  agent: Agent,
  rest: Partial<RuntimeOptions> & { readonly wrap?: (engine: Engine) => Engine } = {},
): Stage {
  const { wrap = (engine: Engine) => engine, ...options } = rest;
  const clock = manualClock();
  const runtime = new Runtime({ agents: [agent], ...options, clock, engine: wrap(local({ clock })) });
  return { runtime, clock, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

const hourly = (agent: Agent, rest: Partial<ScheduleOptions> = {}): ScheduleOptions => ({
  id: "hourly",
  cron: "0 * * * *",
  agent,
  input: "go",
  ...rest,
});

test("a schedule starts a tree with its budget at each tick, and reports its next and last tick", async () => {
  const { agent, trees } = noting();
  await using at = stage(agent);
  await at.runtime.schedules.set(hourly(agent, { budget: { maxTokens: 7 } }));
  await at.clock.advance(2.5 * hour);
  expect([...trees.values()]).toEqual(["01:00 -", "02:00 -"]);
  const { last, nextAt, budget } = (await at.runtime.schedules.get("hourly")) ?? {};
  expect(nextAt).toBe(Date.UTC(2026, 0, 1, 3));
  expect(last).toMatchObject({ outcome: "started", tick: Date.UTC(2026, 0, 1, 2), error: null });
  expect(budget).toEqual({ maxTokens: 7 });
  const tree = at.runtime.run(last?.treeId ?? "");
  expect((await tree.ledger()).tree.maxTokens).toBe(7);
});

test("users of one tenant have schedules and trees of their own under the same id", async () => {
  const { agent, trees } = noting();
  await using at = stage(agent);
  const { schedules } = at.runtime;
  for (const user of ["ada", "bob"]) await schedules.set(hourly(agent, { tenant: "acme", user }));
  await schedules.set(hourly(agent, { tenant: "acme" }));
  await schedules.set(hourly(agent, { tenant: "other" }));
  await at.clock.advance(hour);
  expect([...trees.values()].toSorted()).toEqual(["01:00 -", "01:00 -", "01:00 ada", "01:00 bob"]);
  const users = async (filter: Parameters<typeof schedules.list>[0]): Promise<unknown> =>
    (await schedules.list(filter)).items.map(({ user }) => user);
  expect(await users({ tenant: "acme" })).toEqual(["ada", "bob", null]);
  expect(await users({ tenant: "acme", user: "ada" })).toEqual(["ada"]);
  expect(await users({ tenant: "acme", user: null })).toEqual([null]);
  expect(await users({})).toEqual([]);
  expect(await schedules.remove("hourly", { tenant: "acme", user: "ada" })).toBe(true);
  expect(await users({ tenant: "acme" })).toEqual(["bob", null]);
});

test("schedules are listed in pages", async () => {
  const { agent } = noting();
  await using at = stage(agent);
  for (const id of ["c", "a", "b"]) await at.runtime.schedules.set(hourly(agent, { id }));
  const first = await at.runtime.schedules.list({ size: 2 });
  const second = await at.runtime.schedules.list({ size: 2, after: first.next ?? "" });
  expect([first, second].map(({ items }) => items.map(({ id }) => id))).toEqual([["a", "b"], ["c"]]);
  expect(second.next).toBeNull();
});

test("a start that fails for now is tried again, and starts one tree", async () => {
  const { agent, trees } = noting();
  let refusals = 3;
  const wrap = (inner: Engine): Engine =>
    delegateEngine(inner, {
      call: async (to, method, argument) => {
        if (method === "open" && refusals-- > 0) throw new RetryableError({ message: "not now" });
        return inner.call(to, method, argument);
      },
    });
  await using at = stage(agent, { wrap });
  await at.runtime.schedules.set(hourly(agent));
  await at.clock.advance(hour);
  await at.clock.advance(10_000);
  expect([...trees.values()]).toEqual(["01:00 -"]);
});

test("a start with a lost answer is repeated, and the tree is the same", async () => {
  const { agent, trees } = noting();
  let losses = 2;
  const wrap = (inner: Engine): Engine =>
    delegateEngine(inner, {
      call: async (to, method, argument) => {
        const answer = await inner.call(to, method, argument);
        if (method === "open" && losses-- > 0) throw new Error("the answer is lost");
        return answer;
      },
    });
  await using at = stage(agent, { wrap });
  await at.runtime.schedules.set(hourly(agent));
  await at.clock.advance(hour);
  await at.clock.advance(10_000);
  expect([...trees.values()]).toEqual(["01:00 -"]);
  expect((await at.runtime.schedules.get("hourly"))?.last?.outcome).toBe("started");
});

test("content that is set between two tries of a tick does not start a second tree", async () => {
  const { agent, trees } = noting();
  let losses = 1;
  const wrap = (inner: Engine): Engine =>
    delegateEngine(inner, {
      call: async (to, method, argument) => {
        const answer = await inner.call(to, method, argument);
        if (method !== "open" || losses-- <= 0) return answer;
        await at.runtime.schedules.set(hourly(agent, { input: "something else" }));
        throw new Error("the answer is lost");
      },
    });
  await using at = stage(agent, { wrap });
  await at.runtime.schedules.set(hourly(agent));
  await at.clock.advance(hour);
  await at.clock.advance(10_000);
  expect([...trees.values()]).toEqual(["01:00 -"]);
  expect((await at.runtime.schedules.get("hourly"))?.last?.outcome).toBe("started");
});

test("while the key that set a schedule is revoked, or once it has expired, its ticks fail", async () => {
  const { agent, trees } = noting();
  const store = memoryStore();
  await using at = stage(agent, { store });
  const expiresAt = at.clock.now() + 2.5 * hour;
  const newKey = async (): Promise<string> => {
    const { record } = createApiKey({ tenant: null, scopes: ["run"], expiresAt });
    await store.apiKeys.put(record);
    return record.id;
  };
  const [revoked, expired] = [await newKey(), await newKey()];
  await at.runtime.schedules.set(hourly(agent, { id: "revoked", key: revoked }));
  await at.runtime.schedules.set(hourly(agent, { id: "expired", key: expired }));
  await at.clock.advance(hour);
  await store.apiKeys.revoke(null, revoked);
  await at.clock.advance(2 * hour);
  const last = async (id: string): Promise<unknown> => (await at.runtime.schedules.get(id))?.last;
  expect(await last("revoked")).toMatchObject({ outcome: "failed", error: "key-revoked", treeId: null });
  expect(await last("expired")).toMatchObject({ outcome: "failed", error: "key-expired", treeId: null });
  const started = [...trees].map(([tree, tick]) => `${tree.split(".")[0]} ${tick}`);
  expect(started.toSorted()).toEqual(["expired 01:00 -", "expired 02:00 -", "revoked 01:00 -"]);
  await at.runtime.schedules.set(hourly(agent, { id: "revoked" }));
  await at.clock.advance(hour);
  expect(await last("revoked")).toMatchObject({ outcome: "started" });
});

test("a tick of an agent that the worker does not have fails, and the schedule goes on", async () => {
  const { agent, trees } = noting();
  await using at = stage(agent, {
    wrap: (inner) =>
      delegateEngine(inner, {
        call: async (to, method, argument) => {
          const answer = await inner.call(to, method, argument);
          if (to.type !== "schedule" || method !== "get" || at.clock.now() >= Date.UTC(2026, 0, 1, 2))
            return answer;
          return JSON.parse(JSON.stringify(answer).replace('"agent":"report"', '"agent":"gone"'));
        },
      }),
  });
  await at.runtime.schedules.set(hourly(agent));
  await at.clock.advance(hour);
  expect((await at.runtime.schedules.get("hourly"))?.last).toMatchObject({ error: "unknown-agent" });
  await at.clock.advance(hour);
  expect([...trees.values()]).toEqual(["02:00 -"]);
});

test("mistakes are refused when a schedule is set, not at its first tick", async () => {
  const { agent } = noting();
  await using at = stage(agent);
  const set = (rest: Partial<ScheduleOptions>): Promise<unknown> =>
    at.runtime.schedules.set(hourly(agent, rest));
  await expect(set({ id: "a/b" })).rejects.toThrow(/invalid schedule id/);
  await expect(set({ cron: "0 0 30 2 *" })).rejects.toThrow(/has no tick/);
  await expect(set({ timeZone: "Berlin" })).rejects.toThrow(/IANA/);
  await expect(set(Json.as({ catchUp: "some" }))).rejects.toThrow(/catchUp must be/);
  await expect(set(Json.as({ overlap: "wait" }))).rejects.toThrow(/overlap must be/);
  await expect(set({ budget: { maxTokens: -1 } })).rejects.toThrow(/maxTokens/);
  await expect(set(Json.as({ priority: "urgent" }))).rejects.toThrow(/priority must be one of/);
  await expect(set(Json.as({ retention: "always" }))).rejects.toThrow(/retention must be one of/);
  await expect(set(Json.as({ permissions: [{ nonsense: true }] }))).rejects.toThrow(/permissions\[0\]/);
  await expect(set({ key: "0123" })).rejects.toThrow(/needs a store/);
  await expect(set({ input: {} })).rejects.toThrow(/empty/);
  await expect(set({ agent: { ...agent, id: AgentId.of("stranger") } })).rejects.toThrow(NotFoundError);
  await expect(at.runtime.schedules.pause("hourly")).rejects.toThrow(NotFoundError);
  expect((await at.runtime.schedules.list()).items).toEqual([]);
});
