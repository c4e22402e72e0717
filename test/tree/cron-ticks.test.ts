import { CronTicks } from "#tree";
import { expect, test } from "vitest";
import { planTicks, type CatchUp } from "../../src/tree/schedule/plan-ticks.ts";

const timeOf = (text: string): number => Date.parse(text);

/** The ticks after a moment, as texts. */
function ticksAfter(ticks: CronTicks, from: string, count: number): readonly string[] {
  const found: string[] = [];
  for (let tick = ticks.next(timeOf(from)); tick !== null && found.length < count; tick = ticks.next(tick))
    found.push(new Date(tick).toISOString().slice(0, 16));
  return found;
}

test("a tick at a local time that the change to summer time skips comes once, when the hour is over", () => {
  const ticks = new CronTicks("30 2 * * *", "Europe/Berlin");
  expect(ticksAfter(ticks, "2026-03-27T12:00:00Z", 3)).toEqual([
    "2026-03-28T01:30",
    "2026-03-29T01:00",
    "2026-03-30T00:30",
  ]);
});

test("a tick at a local time that the change to winter time repeats comes once", () => {
  const ticks = new CronTicks("30 2 * * *", "Europe/Berlin");
  expect(ticksAfter(ticks, "2026-10-23T12:00:00Z", 3)).toEqual([
    "2026-10-24T00:30",
    "2026-10-25T00:30",
    "2026-10-26T01:30",
  ]);
});

test("ticks of an interval go on through both changes without a gap", () => {
  const ticks = new CronTicks("*/30 * * * *", "America/New_York");
  for (const day of ["2026-03-08", "2026-11-01"]) {
    const found = ticksAfter(ticks, `${day}T04:59:00Z`, 8).map((text) => timeOf(`${text}Z`));
    expect(found.map((tick) => tick - (found[0] ?? 0))).toEqual(found.map((_, n) => n * 1_800_000));
  }
});

test("the latest tick is found however long ago it was", () => {
  const yearly = new CronTicks("0 0 29 2 *", "UTC");
  const until = timeOf("2031-06-01T00:00:00Z");
  expect(yearly.latest({ after: timeOf("2020-01-01T00:00:00Z"), until })).toBe(
    timeOf("2028-02-29T00:00:00Z"),
  );
  expect(yearly.latest({ after: timeOf("2028-02-29T00:00:00Z"), until })).toBeNull();
  const everySecond = new CronTicks("* * * * * *", "UTC");
  expect(everySecond.latest({ after: 0, until: until + 999 })).toBe(until);
  expect(everySecond.latest({ after: until, until: until + 999 })).toBeNull();
});

test.each([
  ["61 * * * *", "UTC", /61/],
  ["* * * *", "UTC", /5 fields/],
  ["* * * * * * *", "UTC", /5 fields/],
  ["2030-01-01T00:00:00", "UTC", /5 fields/],
  ["? * * * *", "UTC", /5 fields/],
  ["@reboot", "UTC", /5 fields/],
  ["* * * * *", "Mars/Base", /Mars\/Base.*IANA/],
])("%s in %s is refused with the reason", (cron, timeZone, message) => {
  expect(() => new CronTicks(cron, timeZone)).toThrow(message);
});

const hourly = new CronTicks("0 * * * *", "UTC");
const plan = (catchUp: CatchUp, now: string): unknown => {
  const { start, after } = planTicks(hourly, {
    catchUp,
    after: timeOf("2026-01-01T00:00:00Z"),
    now: timeOf(now),
  });
  return { start: start.map((tick) => new Date(tick).getUTCHours()), after };
};

test.each([
  ["all", "2026-01-01T03:59:00Z", [1, 2, 3], "2026-01-01T03:00:00Z"],
  ["latest", "2026-01-01T03:59:00Z", [3], "2026-01-01T03:59:00Z"],
  ["none", "2026-01-01T03:59:00Z", [], "2026-01-01T03:59:00Z"],
  ["none", "2026-01-01T03:00:30Z", [3], "2026-01-01T03:00:30Z"],
  ["latest", "2026-01-01T00:59:59Z", [], "2026-01-01T00:59:59Z"],
] as const)("with catchUp %s at %s the ticks %j start", (catchUp, now, start, after) => {
  expect(plan(catchUp, now)).toEqual({ start, after: timeOf(after) });
});

test("a clock that goes back repeats no tick", () => {
  expect(plan("all", "2025-12-31T23:00:00Z")).toEqual({ start: [], after: timeOf("2026-01-01T00:00:00Z") });
});

test("ticks are planned in parts, and none is lost or planned twice", () => {
  const everySecond = new CronTicks("* * * * * *", "UTC");
  const found: number[] = [];
  for (let after = 0; ;) {
    const part = planTicks(everySecond, { catchUp: "all", after, now: 250_000 });
    if (part.start.length === 0) break;
    expect(part.start.length).toBeLessThanOrEqual(100);
    found.push(...part.start);
    ({ after } = part);
  }
  expect(found).toEqual(Array.from({ length: 250 }, (_, n) => (n + 1) * 1000));
});

test.each([
  ["* * * * * *", 1_000],
  ["*/20 * * * *", 1_200_000],
  ["0,1 9 * * 1", 60_000],
  ["59,0 0 0 1 * *", 59_000],
  ["0 9 1 1 *", 365 * 86_400_000],
])("the shortest time between two ticks of %s is found", (cron, ms) => {
  expect(new CronTicks(cron, "UTC").shortestInterval(Date.UTC(2026, 5, 1))).toBe(ms);
});
