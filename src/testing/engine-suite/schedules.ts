import assert from "node:assert/strict";
import { Json, type Agent } from "#kernel";
import type { Runtime } from "#runtime";
import { agentOf, eventually, forever, onRuntime, type EngineCase } from "./harness.ts";

/** An id of its own: engines may remember schedules of other cases. */
const freshId = (name: string): string => `${name}-${crypto.randomUUID().slice(0, 8)}`;

const everySecond = "* * * * * *";

/** The metadata of a tree that a schedule has started. */
interface ScheduledMetadata {
  readonly schedule: string;
  readonly tick: string;
}

/** Trees that schedules have started: their inputs, by schedule and tick. */
class Started {
  readonly #inputs = new Map<string, Map<string, string>>();
  readonly agent: Agent;

  /** `rest`: how each tree goes on. */
  constructor(rest: (ctx: Parameters<Agent["run"]>[0]) => Promise<null> = async () => null) {
    this.agent = agentOf("scheduled", async (ctx, inbox) => {
      const message = await inbox.next();
      const { schedule, tick } = Json.as<ScheduledMetadata>(Json.of(ctx.meta.scope?.metadata));
      const ticks = this.ticks(schedule);
      ticks.set(`${tick} ${ctx.supervision.treeId}`, message?.text ?? "");
      this.#inputs.set(schedule, ticks);
      return rest(ctx);
    });
  }

  /** The inputs of the trees of one schedule, by tick and tree. */
  ticks(id: string): Map<string, string> {
    return this.#inputs.get(id) ?? new Map<string, string>();
  }

  /** The moments of the ticks of one schedule that started a tree, in order: one for each tree. */
  moments(id: string): readonly number[] {
    return [...this.ticks(id).keys()]
      .map((name) => Date.parse(name.split(" ", 1)[0] ?? ""))
      .toSorted((a, b) => a - b);
  }

  async waitForTicks(id: string, count: number): Promise<void> {
    await eventually(`${id} has started ${count} trees`, () => this.moments(id).length >= count, 20_000);
  }
}

/** Waits until another schedule has made this many ticks, so that the engine's time has advanced. */
async function passTicks(runtime: Runtime, started: Started, count: number): Promise<void> {
  const id = freshId("clock");
  await runtime.schedules.set({ id, cron: everySecond, agent: started.agent, input: "tick" });
  await started.waitForTicks(id, count);
  await runtime.schedules.remove(id);
}

/** Section 11: schedules. */
export const scheduleCases: readonly EngineCase[] = [
  {
    name: "11.7 a user and a tenant have at most so many schedules, and those that exist can be changed",
    async run(harness) {
      const started = new Started();
      const schedules = { maxPerUser: 2, maxPerTenant: 3 };
      await onRuntime(harness, { agents: [started.agent], schedules }, async (runtime) => {
        const tenant = freshId("tenant");
        const set = (id: string, user: string, input = "go"): Promise<unknown> =>
          runtime.schedules.set({ id, cron: "0 0 1 1 *", agent: started.agent, input, tenant, user });
        await set("a", "ann");
        await set("b", "ann");
        await assert.rejects(set("c", "ann"), /a user may have at most 2 schedules/);
        await set("a", "bob");
        await assert.rejects(set("b", "bob"), /a tenant may have at most 3 schedules/);
        await set("b", "ann", "changed");
        assert.equal((await runtime.schedules.get("b", { tenant, user: "ann" }))?.input, "changed");
        assert.equal(await runtime.schedules.get("c", { tenant, user: "ann" }), null);
        await runtime.schedules.remove("a", { tenant, user: "ann" });
        await set("b", "bob");
        assert.equal((await runtime.schedules.list({ tenant })).items.length, 3);
      });
    },
  },
  {
    name: "11.1 a schedule starts one tree at each tick, and none once it is removed",
    async run(harness) {
      const started = new Started();
      await onRuntime(harness, { agents: [started.agent] }, async (runtime) => {
        const id = freshId("each");
        const schedule = {
          id,
          cron: everySecond,
          agent: started.agent,
          input: "go",
          catchUp: "all" as const,
        };
        const { setAt } = await runtime.schedules.set(schedule);
        await started.waitForTicks(id, 3);
        assert.equal(await runtime.schedules.remove(id), true);
        const removedAt = Date.now();
        await passTicks(runtime, started, 2);
        const moments = started.moments(id);
        const first = Math.floor(setAt / 1000) * 1000 + 1000;
        assert.deepEqual(
          moments,
          moments.map((_, index) => first + index * 1000),
        );
        assert.ok((moments.at(-1) ?? Infinity) <= removedAt + 50);
        assert.equal(await runtime.schedules.get(id), null);
      });
    },
  },
  {
    name: "11.2 a schedule that is set again is replaced: one tree for each tick, with the content that is set then",
    async run(harness) {
      const started = new Started();
      await onRuntime(harness, { agents: [started.agent] }, async (runtime) => {
        const id = freshId("again");
        const schedule = { id, cron: everySecond, agent: started.agent, input: "first" };
        const { setAt } = await runtime.schedules.set(schedule);
        await started.waitForTicks(id, 1);
        assert.equal((await runtime.schedules.set(schedule)).setAt, setAt);
        await runtime.schedules.set({ ...schedule, input: "second" });
        await eventually("a tree has the new input", () =>
          [...started.ticks(id).values()].includes("second"),
        );
        const { nextAt } = await runtime.schedules.set({ ...schedule, cron: "0 0 1 1 *" });
        const setTo = Date.now();
        assert.equal(nextAt, Date.UTC(new Date(setTo).getUTCFullYear() + 1, 0, 1));
        await passTicks(runtime, started, 2);
        const moments = started.moments(id);
        assert.equal(new Set(moments).size, moments.length);
        assert.ok((moments.at(-1) ?? Infinity) <= setTo + 50);
        await runtime.schedules.remove(id);
      });
    },
  },
  {
    name: "11.4 with overlap skip, no tick starts a tree while that of an earlier tick lives",
    async run(harness) {
      const started = new Started(async (ctx) => {
        await forever(ctx);
        return null;
      });
      await onRuntime(harness, { agents: [started.agent] }, async (runtime) => {
        const id = freshId("skip");
        const { agent } = started;
        await runtime.schedules.set({ id, cron: everySecond, agent, input: "go", overlap: "skip" });
        const last = async (): Promise<{ readonly outcome?: string; readonly treeId?: string | null }> =>
          (await runtime.schedules.get(id))?.last ?? {};
        await eventually("a tick is skipped", async () => (await last()).outcome === "skipped");
        const { treeId } = await last();
        assert.equal(started.moments(id).length, 1);
        await runtime.run(treeId ?? "").cancel();
        await started.waitForTicks(id, 2);
        await runtime.schedules.remove(id);
        assert.equal(started.moments(id).length, 2);
      });
    },
  },
  {
    name: "11.5 a paused schedule starts nothing, and goes on with the next tick after it is resumed",
    async run(harness) {
      const started = new Started();
      await onRuntime(harness, { agents: [started.agent] }, async (runtime) => {
        const id = freshId("pause");
        const { agent } = started;
        await runtime.schedules.set({ id, cron: everySecond, agent, input: "go", catchUp: "all" });
        const { nextAt } = await runtime.schedules.pause(id);
        assert.equal(nextAt, null);
        const pausedAt = Date.now();
        await passTicks(runtime, started, 2);
        const resumed = (await runtime.schedules.resume(id)).nextAt ?? 0;
        await eventually("it ticks again", () => (started.moments(id).at(-1) ?? 0) >= resumed);
        const paused = started.moments(id).filter((moment) => moment > pausedAt + 50 && moment < resumed);
        assert.deepEqual(paused, []);
        await runtime.schedules.remove(id);
      });
    },
  },
];
