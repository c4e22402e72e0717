// Schedules: an agent that starts every morning by the clock of its readers, once for each tick, within a budget.
import assert from "node:assert/strict";
import { agent, createRuntime } from "reeve";
import { local } from "reeve/engines/local";
import { manualClock, say, scriptedModel } from "reeve/testing";

const model = scriptedModel([
  say("Thursday's news"),
  say("Friday's news"),
  say("Saturday's news"),
  say("Sunday's news"),
]);
const lead = agent({ name: "lead", model });

// A manual clock moves only on request. In your program, leave `clock` out.
const clock = manualClock(Date.UTC(2026, 2, 26));
await using runtime = createRuntime({ agents: [lead], clock, engine: local({ clock }) });
const day = 24 * 60 * 60 * 1000;

const news = {
  id: "news",
  cron: "0 9 * * *", // minute, hour, day, month, weekday
  timeZone: "Europe/Berlin",
  agent: lead,
  input: "What is new about heat pumps?",
  budget: { maxTokens: 5_000 }, // of each tree
  overlap: "skip", // no second tree while one is live
} as const;
const set = await runtime.schedules.set(news);
assert.equal(new Date(set.nextAt ?? 0).toISOString(), "2026-03-26T08:00:00.000Z");

/** The result of the newest tree. */
const newest = async (): Promise<unknown> => {
  const { last } = (await runtime.schedules.get("news")) ?? {};
  const { output } = await runtime.run(last?.treeId ?? "").result();
  return [last?.outcome, new Date(last?.tick ?? 0).toISOString().slice(0, 16), output];
};

await clock.advance(day);
assert.deepEqual(await newest(), ["started", "2026-03-26T08:00", "Thursday's news"]);
await clock.advance(day);
assert.deepEqual(await newest(), ["started", "2026-03-27T08:00", "Friday's news"]);

// Setting the same schedule again, as every deployment does, changes nothing.
assert.equal((await runtime.schedules.set(news)).setAt, set.setAt);

// Berlin changes to summer time on Sunday: nine o'clock comes an hour earlier.
await clock.advance(2 * day);
assert.deepEqual(await newest(), ["started", "2026-03-29T07:00", "Sunday's news"]);

// A paused schedule starts nothing. Removing it leaves live trees running.
assert.equal((await runtime.schedules.pause("news")).nextAt, null);
assert.equal(await runtime.schedules.remove("news"), true);
assert.deepEqual((await runtime.schedules.list()).items, []);
