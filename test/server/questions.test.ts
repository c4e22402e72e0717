import { agent, ToolResult, type Json, tool } from "reeve";
import { type HumanQuestion } from "#kernel";
import { call, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf, type Reply } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer } from "./test-server.ts";

const form: HumanQuestion = { question: "Where to?", fields: [{ name: "street", type: "text" }] };

/** A tool that asks in the middle of its work. */
const order = tool({
  name: "order",
  description: "Orders paper",
  input: z.object({}),
  risk: "safe",
  execute: (_, { resumed }) => (resumed?.answer ? JSON.stringify(resumed.answer) : ToolResult.ask(form)),
});

const statusAndCode = (reply: Reply): readonly unknown[] => [reply.status, codeOf(reply)];

test.each<[string, Json, Json, Json]>([
  ["ask_human", { question: "When?", choices: ["Monday", "Friday"] }, "Sunday", "Friday"],
  ["order", {}, { street: "" }, { street: "Park Lane" }],
])(
  "a question of %s is answered once, by an allowed key, with a fitting answer",
  async (name, input, wrong, right) => {
    const model = scriptedModel([call(name, input), say("done")]);
    const lead = agent({ name: "lead", model, tools: [askHuman(), order] });
    const site = closing(await TestServer.open({ agents: [lead] }));
    await site.post("/runs", { agent: "lead", input: "go", id: "t1" });
    const question = async () => (await site.runtime.approvals.ofTree("t1", { tenant: "acme" }))[0];
    await expect.poll(question).toMatchObject({ tool: name, asks: true });
    const { id, hash } = (await question()) ?? { id: "", hash: "" };
    const { acme, rival } = site.keys;
    const answer = (given: Json, key: string, seen = hash): Promise<Reply> =>
      site.post(`/approvals/${encodeURIComponent(id)}/edit`, { arguments: given, hash: seen }, { key });

    expect((await answer(right, rival.approve)).status).toBe(404);
    expect((await answer(right, acme.run)).status).toBe(403);
    expect(statusAndCode(await answer(wrong, acme.approve))).toEqual([409, "approval-refused"]);
    expect(statusAndCode(await answer(right, acme.approve, "another"))).toEqual([409, "approval-refused"]);
    expect((await answer(right, acme.approve)).status).toBe(200);
    expect(statusAndCode(await answer(right, acme.approve))).toEqual([409, "approval-refused"]);
    await site.runtime.run("t1", { tenant: "acme" }).result();
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(
      typeof right === "string" ? right : "Park Lane",
    );
  },
);
