import { scheduleObjects, type ScheduleReply, type ScheduleSpec } from "#tree";
import { Json, type ObjectMethod } from "#kernel";
import { expect, test } from "vitest";
import { LazyObject } from "./lazy-object.ts";

const definition = scheduleObjects[0];

const spec: ScheduleSpec = {
  id: "hourly",
  user: null,
  cron: "0 * * * *",
  timeZone: "UTC",
  agent: "report",
  input: "go",
  options: {},
  catchUp: "all",
  overlap: "start",
  key: null,
};

const hour = 3_600_000;

/** A schedule on an object whose time the test sets. */
class ScheduleStage {
  readonly object = new LazyObject('-/~[null,"hourly"]');

  call(name: string, argument: unknown): Json {
    const method: ObjectMethod | undefined = definition?.methods[name] ?? definition?.queries[name];
    if (!method) throw new Error(`no method ${name}`);
    return this.object.call(method, argument).result;
  }

  set(rest: Partial<ScheduleSpec> = {}, nonce = "n"): ScheduleReply {
    return Json.as(this.call("set", { spec: { ...spec, ...rest }, nonce }));
  }

  /** The messages since the last call: the generation of each timer, the hour of each tick. */
  takeSent(): readonly string[] {
    return this.object.sent.splice(0).map(({ to, argument }) => {
      const { generation, tick } = Json.as<{ generation: number; tick?: number }>(argument);
      return to.type === "tick" ? `tick ${(tick ?? 0) / hour}` : `timer ${generation}`;
    });
  }
}

test("ticks that were due while no worker ran are ordered in order when the timer comes late", () => {
  const stage = new ScheduleStage();
  stage.set();
  expect(stage.takeSent()).toEqual(["timer 1"]);
  stage.object.time = 3.5 * hour;
  stage.call("due", { generation: 1 });
  expect(stage.takeSent()).toEqual(["tick 1", "tick 2", "tick 3", "timer 1"]);
  stage.call("due", { generation: 1 });
  expect(stage.takeSent()).toEqual(["timer 1"]);
});

test("a timer that comes early orders nothing, and is armed again", () => {
  const stage = new ScheduleStage();
  stage.set({ catchUp: "latest" });
  stage.takeSent();
  stage.object.time = hour - 1;
  stage.call("due", { generation: 1 });
  expect(stage.takeSent()).toEqual(["timer 1"]);
  stage.object.time = hour;
  stage.call("due", { generation: 1 });
  expect(stage.takeSent()).toEqual(["tick 1", "timer 1"]);
});

test("the same schedule again arms no second timer and loses no missed tick", () => {
  const stage = new ScheduleStage();
  stage.set();
  stage.object.time = 2.5 * hour;
  const again = stage.set({}, "another");
  const changed = stage.set({ input: "other" });
  expect([again.state.nonce, changed.state.nonce]).toEqual(["n", "n"]);
  expect(stage.takeSent()).toEqual(["timer 1"]);
  stage.call("due", { generation: 1 });
  expect(stage.takeSent()).toEqual(["tick 1", "tick 2", "timer 1"]);
});

test("other times begin with the next tick, and the timer of the times before does nothing", () => {
  const stage = new ScheduleStage();
  stage.set();
  stage.object.time = 2.5 * hour;
  stage.set({ cron: "30 * * * *" });
  expect(stage.takeSent()).toEqual(["timer 1", "timer 2"]);
  stage.object.time = 4 * hour;
  stage.call("due", { generation: 1 });
  expect(stage.takeSent()).toEqual([]);
  stage.call("due", { generation: 2 });
  expect(stage.takeSent()).toEqual(["tick 3.5", "timer 2"]);
});

test("a removed schedule has no state, and its timer does nothing", () => {
  const stage = new ScheduleStage();
  stage.set();
  expect([stage.call("remove", null), stage.call("remove", null)]).toEqual([true, false]);
  expect(stage.object.state.size).toBe(0);
  stage.takeSent();
  stage.call("due", { generation: 1 });
  stage.call("ticked", { tick: 1, at: 1, outcome: "started", treeId: "t", error: null });
  expect([stage.takeSent(), stage.object.state.size]).toEqual([[], 0]);
  expect(stage.object.called.map(({ method }) => method)).toEqual(["add", "drop"]);
});

const result = (tick: number, treeId: string): unknown => ({
  tick,
  at: 9,
  outcome: "started",
  treeId,
  error: null,
});

test("of results that come late or twice, that of the latest tick stays", () => {
  const stage = new ScheduleStage();
  stage.set();
  for (const [tick, tree] of [
    [2, "b"],
    [1, "a"],
    [2, "b"],
  ] as const)
    stage.call("ticked", result(tick, tree));
  const { state } = Json.as<ScheduleReply>(stage.call("get", null));
  expect([state.last?.tick, state.lastTree]).toEqual([2, "b"]);
});

test("a timer of a removed schedule does nothing to one that is set again under its id", () => {
  const stage = new ScheduleStage();
  stage.set({}, "first");
  stage.call("remove", null);
  stage.set({}, "second");
  const [ofFirst, ofSecond] = stage.object.sent.splice(0).map(({ argument }) => argument);
  stage.object.time = hour;
  stage.call("due", ofFirst);
  expect(stage.takeSent()).toEqual([]);
  stage.call("due", ofSecond);
  expect(stage.takeSent()).toEqual(["tick 1", "timer 1"]);
});
