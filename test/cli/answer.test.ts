import { agent } from "reeve";
import { createClient } from "reeve/client";
import { call, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";
import { expect, test } from "vitest";
import { CliServer } from "./cli-server.ts";

const day = { question: "On which day?", choices: ["Monday", "Friday"] };
const trip = { question: "Where to?", fields: [{ name: "city", type: "text" }] };

/** An agent that asks one question. */
const lead = (question: typeof day | typeof trip) =>
  agent({
    name: "lead",
    model: scriptedModel([call("ask_human", question), say("Thank you.")]),
    tools: [askHuman()],
  });

test("a question is shown with its choices, and takes one of them", async () => {
  await using server = await CliServer.open({ agents: [lead(day)] });
  const running = server.reeve("run", "lead", "plan", "--id", "t1");
  await server.waitForApproval("t1");
  const listed = await server.reeve("approvals");
  expect(listed.said).toMatch(
    /lead asks a question.*question: "On which day\?"\n {2}choices: \["Monday","Friday"\]/s,
  );
  expect((await server.reeve("why", "t1")).said).toContain("reeve answer t1~0:tool:2");
  expect(await server.reeve("approve", "t1")).toMatchObject({ code: 5 });
  const wrong = await server.reeve("answer", "t1", "Sunday");
  expect([wrong.code, wrong.complained]).toEqual([
    5,
    expect.stringContaining("must be one of Monday, Friday"),
  ]);
  expect((await server.reeve("answer", "t1", "Friday")).said).toMatch(/edited t1~0:tool:2\n$/);
  const { code, complained, said } = await running;
  expect([code, said + complained]).toEqual([
    0,
    expect.stringContaining("asks a question: reeve answer t1~0:tool:2"),
  ]);
  const { items } = await server.runtime.approvals.list({}, { size: 10 });
  expect(items[0]?.decision).toMatchObject({ decision: "edited", arguments: "Friday" });
});

test("a form is answered by JSON, and an answer over HTTP is checked in the same way", async () => {
  await using server = await CliServer.open({ agents: [lead(trip)] });
  const running = server.reeve("run", "lead", "plan", "--id", "t1");
  await server.waitForApproval("t1");
  expect((await server.reeve("answer", "t1", "Rome")).complained).toContain("answer with its fields as JSON");
  const client = createClient({ url: server.url });
  await expect(client.answer("t1~0:tool:2", { city: 1 })).rejects.toMatchObject({ code: "approval-refused" });
  await expect(client.answer("t1~0:tool:2", { city: "Rome" })).resolves.toMatchObject({ decision: "edited" });
  expect((await running).code).toBe(0);
});

test("a call that needs approval is not a question", async () => {
  await using server = await CliServer.open();
  void server.reeve("run", "lead", "publish", "--id", "t1");
  await server.waitForApproval("t1");
  const { code, complained } = await server.reeve("answer", "t1", "yes");
  expect([code, complained]).toEqual([2, expect.stringContaining("not a question")]);
});
