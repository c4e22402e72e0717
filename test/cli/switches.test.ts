import { expect, test } from "vitest";
import { CliServer } from "./cli-server.ts";

test("an agent is disabled, listed and enabled", async () => {
  await using server = await CliServer.open();
  expect((await server.reeve("switches")).said).toBe("nothing is disabled\n");
  const off = await server.reeve("disable", "agent", "writer", "--reason", "leaks");
  expect([off.code, off.said]).toEqual([0, "agent writer: disabled\n"]);
  expect((await server.reeve("switches")).said).toMatch(/^agent writer: disabled .*at \d{4}-.*: leaks\n$/);
  const refused = await server.reeve("run", "writer", "go");
  expect(refused.code).not.toBe(0);
  expect(refused.complained).toContain("agent writer is disabled: leaks");
  expect((await server.reeve("enable", "agent", "writer")).said).toBe("agent writer: enabled\n");
  expect((await server.reeve("enable", "agent", "writer")).said).toBe("agent writer: was not disabled\n");
});

test("an unknown kind and a missing name are refused", async () => {
  await using server = await CliServer.open();
  expect((await server.reeve("disable", "model", "x")).code).toBe(2);
  const nameless = await server.reeve("disable", "tool");
  expect([nameless.code, nameless.complained]).toEqual([
    2,
    expect.stringContaining("give the name of the tool"),
  ]);
  expect((await server.reeve("disable", "tenant", "acme")).code).toBe(2);
});
