import { expect, test } from "vitest";
import { CliServer } from "./cli-server.ts";

test("schedules are set, listed, paused and removed", async () => {
  await using server = await CliServer.open();
  expect((await server.reeve("schedules", "list")).said).toBe("no schedules\n");
  const cron = ["--cron", "0 9 1 1 *", "--time-zone", "Europe/Berlin"] as const;
  const set = await server.reeve("schedules", "set", "news", "writer", "go", ...cron, "--max-cost", "0.5");
  expect([set.code, set.said]).toEqual([0, expect.stringMatching(/^news: next tick at \d{4}-01-01 /)]);
  const listed = await server.reeve("schedules", "list");
  expect(listed.said).toMatch(
    /^schedule +user +agent +cron +next +last +result\nnews +writer +0 9 1 1 \* Europe/,
  );
  const [json = ""] = (await server.reeve("schedules", "list", "--json")).said.split("\n");
  expect(JSON.parse(json)).toMatchObject({ id: "news", budget: { maxCostUsd: 0.5 }, last: null });
  expect((await server.reeve("schedules", "pause", "news")).said).toBe("news: paused\n");
  expect((await server.reeve("schedules", "resume", "news")).said).toMatch(/^news: next tick at /);
  expect((await server.reeve("schedules", "remove", "news")).said).toBe("news: removed\n");
  const gone = await server.reeve("schedules", "remove", "news");
  expect([gone.code, gone.complained]).toEqual([4, expect.stringContaining("news")]);
});

test("the tree of a tick is in the list of runs, and its result in the list of schedules", async () => {
  await using server = await CliServer.open({ limits: { scheduleIntervalS: 1 } });
  await server.reeve("schedules", "set", "often", "writer", "go", "--cron", "* * * * * *");
  await expect.poll(async () => (await server.reeve("schedules", "list")).said).toMatch(/started/);
  await expect.poll(async () => (await server.reeve("runs")).said).toMatch(/often\.\d{8}T\d{6}Z/);
  await server.reeve("schedules", "remove", "often");
});

test("invalid times are refused with a message", async () => {
  await using server = await CliServer.open();
  const bad = await server.reeve("schedules", "set", "news", "writer", "go", "--cron", "61 * * * *");
  expect(bad.code).not.toBe(0);
  expect(bad.complained).toContain("minute: 61");
  expect((await server.reeve("schedules", "set", "news", "writer", "go")).code).toBe(2);
});
