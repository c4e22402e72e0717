import { expect, test } from "vitest";
import { Town } from "./town.ts";

test("an agent is disabled, listed and enabled", async () => {
  await using town = await Town.open();
  expect((await town.reeve("switches")).said).toBe("nothing is disabled\n");
  const off = await town.reeve("disable", "agent", "clerk", "--reason", "leaks");
  expect([off.code, off.said]).toEqual([0, "agent clerk: disabled\n"]);
  expect((await town.reeve("switches")).said).toMatch(/^agent clerk: disabled .*at \d{4}-.*: leaks\n$/);
  const refused = await town.reeve("run", "clerk", "go");
  expect(refused.code).not.toBe(0);
  expect(refused.complained).toContain("agent clerk is disabled: leaks");
  expect((await town.reeve("enable", "agent", "clerk")).said).toBe("agent clerk: enabled\n");
  expect((await town.reeve("enable", "agent", "clerk")).said).toBe("agent clerk: was not disabled\n");
});

test("an unknown kind and a missing name are refused", async () => {
  await using town = await Town.open();
  expect((await town.reeve("disable", "model", "x")).code).toBe(2);
  const nameless = await town.reeve("disable", "tool");
  expect([nameless.code, nameless.complained]).toEqual([
    2,
    expect.stringContaining("give the name of the tool"),
  ]);
  expect((await town.reeve("disable", "tenant", "acme")).code).toBe(2);
});
