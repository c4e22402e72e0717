import { expect, test } from "vitest";
import { CliServer } from "./cli-server.ts";

test("webhooks are set, listed, given another secret and removed, and secrets are shown once", async () => {
  await using server = await CliServer.open();
  expect((await server.reeve("webhooks", "list")).said).toBe("no webhooks\n");
  const events = ["--events", "run.end,budget.warning"] as const;
  const set = await server.reeve("webhooks", "set", "ops", "https://ops.example.com/reeve", ...events);
  expect([set.code, set.said]).toEqual([
    0,
    expect.stringMatching(/^ops: run\.end, budget\.warning\nsecret \(shown once\): whsec_\S{44}\n$/),
  ]);
  const again = await server.reeve("webhooks", "set", "ops", "https://ops.example.com/reeve", "--all-runs");
  expect(again.said).toBe("ops: run.end, approval.requested, budget.warning\n");
  const listed = await server.reeve("webhooks", "list");
  expect(listed.said).toMatch(/^webhook +events +runs +url\nops +run\.end \S+.* all +https:\/\/ops/);
  const [json = ""] = (await server.reeve("webhooks", "list", "--json")).said.split("\n");
  expect(JSON.parse(json)).not.toHaveProperty("secret");
  expect((await server.reeve("webhooks", "rotate-secret", "ops")).said).toMatch(/whsec_/);
  expect((await server.reeve("webhooks", "deliveries", "ops", "--status", "dead")).said).toBe(
    "no deliveries\n",
  );
  expect((await server.reeve("webhooks", "redeliver", "ops")).said).toBe("ops: 0 deliveries queued again\n");
  expect((await server.reeve("webhooks", "remove", "ops")).said).toBe("ops: removed\n");
  expect((await server.reeve("webhooks", "remove", "ops")).code).toBe(4);
});

test("URLs inside the network and unknown events are refused", async () => {
  await using server = await CliServer.open();
  const inside = await server.reeve("webhooks", "set", "ops", "https://169.254.169.254/latest");
  expect(inside.complained).toContain("169.254.169.254 is not a public address");
  expect(inside.code).not.toBe(0);
  const unknown = await server.reeve(
    "webhooks",
    "set",
    "ops",
    "https://ops.example.com/",
    "--events",
    "run.start",
  );
  expect(unknown.code).toBe(2);
});
