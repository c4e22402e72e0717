import { agent, createRuntime, type Json, type RunHandle } from "reeve";
import { mcp, pinTools, type McpOptions } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test, vi } from "vitest";
import { patienceMs } from "../effort.ts";

const address = {
  name: "shop",
  command: process.execPath,
  args: ["test/mcp/fixtures/shop-server.ts"],
} satisfies McpOptions;

const pins = pinTools(address);

const questionOf = (run: RunHandle, number = 1) =>
  vi.waitUntil(async () => (await run.approvals())[number - 1], { timeout: patienceMs(), interval: 20 });

/** Calls a tool of the shop. Returns the text of its result. */
async function order(
  options: Partial<McpOptions>,
  answer: (run: RunHandle) => Promise<unknown>,
  [tool, input]: readonly [string, Json] = ["shop_order", { what: "paper" }],
): Promise<string> {
  const tools = { order: { risk: "safe" }, book: { risk: "safe" } } as const;
  await using server = mcp({ ...address, pins: await pins, tools, ...options });
  const model = scriptedModel([call(tool, input), say("done")]);
  const writer = agent({ name: "writer", model, extensions: [server] });
  await using runtime = createRuntime({ agents: [writer], approver: "human" });
  const run = await runtime.start(writer, "go");
  await answer(run);
  expect(await run.result()).toMatchObject({ status: "completed" });
  const blocks = model.requests.at(-1)?.messages.flatMap(({ content }) => content) ?? [];
  const result = blocks.find((block) => block.type === "tool-result");
  return result?.content.map((block) => (block.type === "text" ? block.text : "")).join("") ?? "";
}

test("a server's question is asked as an approval, and its answer completes the call", async () => {
  const text = await order({ elicitation: "ask" }, async (run) => {
    const question = await questionOf(run);
    expect(question).toMatchObject({
      tool: "shop_order",
      asks: true,
      arguments: { question: "MCP server shop asks: Where to?", fields: [{ name: "street", type: "text" }] },
    });
    await expect(run.edit(question.id, { street: 1 })).rejects.toMatchObject({ reason: "wrong-answer" });
    await expect(run.approve(question.id)).rejects.toMatchObject({ reason: "no-answer" });
    await run.edit(question.id, { street: "Park Lane" });
  });
  expect(text).toContain('{"action":"accept","content":{"street":"Park Lane"}}');
});

test("denying a server's question declines it", async () => {
  const text = await order({ elicitation: "ask" }, async (run) => run.deny((await questionOf(run)).id));
  expect(text).toContain('{"action":"decline"}');
});

/** Answers three questions: a form, a page, and one that is denied. */
async function book(run: RunHandle): Promise<void> {
  const room = await questionOf(run);
  expect(room.arguments).toEqual({
    question: "MCP server shop asks: Which room?",
    fields: [
      { name: "floor", type: "integer", description: "Floor", min: 1, max: 9 },
      { name: "bed", type: "text", choices: ["1", "2"], description: "1: single; 2: double" },
      { name: "extras", type: "list", choices: ["bath", "view"], max: 2 },
      { name: "quiet", type: "boolean" },
      { name: "note", type: "text", optional: true, max: 20 },
      { name: "price", type: "number", optional: true },
    ],
  });
  await run.edit(room.id, { floor: 3, bed: "2", extras: ["view"], quiet: true });
  const terms = await questionOf(run, 2);
  expect(terms.arguments).toEqual({
    question: "MCP server shop asks: Our terms\nThe page to open: https://shop.example/terms",
    choices: ["accept"],
  });
  await run.edit(terms.id, "accept");
  await run.deny((await questionOf(run, 3)).id);
}

test("several questions of a server are asked one after another, with every kind of field", async () => {
  const text = await order({ elicitation: "ask" }, book, ["shop_book", {}]);
  expect(JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1))).toEqual({
    room: { action: "accept", content: { floor: 3, bed: "2", extras: ["view"], quiet: true } },
    terms: { action: "accept" },
    guest: { action: "decline" },
  });
});

test("a server's question is declined by default", async () => {
  const text = await order({}, async () => undefined);
  expect(text).toContain("client capabilities do not declare");
});
