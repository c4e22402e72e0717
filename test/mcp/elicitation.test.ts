import { agent, createRuntime, type RunHandle } from "reeve";
import { mcp, pinTools, type McpOptions } from "reeve/mcp";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test, vi } from "vitest";

const address = {
  name: "shop",
  command: process.execPath,
  args: ["test/mcp/fixtures/shop-server.ts"],
} satisfies McpOptions;

const pins = pinTools(address);

const questionOf = (run: RunHandle) =>
  vi.waitUntil(async () => (await run.approvals())[0], { timeout: 30_000, interval: 20 });

async function order(
  options: Partial<McpOptions>,
  answer: (run: RunHandle) => Promise<unknown>,
): Promise<string> {
  await using server = mcp({ ...address, pins: await pins, tools: { order: { risk: "safe" } }, ...options });
  const model = scriptedModel([call("shop_order", { what: "flour" }), say("done")]);
  const clerk = agent({ name: "clerk", model, extensions: [server] });
  await using runtime = createRuntime({ agents: [clerk], approver: "people" });
  const run = await runtime.start(clerk, "go");
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
      needsInput: true,
      arguments: {
        server: "shop",
        questions: { address: { message: "Where to?", schema: { type: "object" } } },
      },
    });
    await run.edit(question.id, { street: "Mill Lane" });
  });
  expect(text).toContain('{"action":"accept","content":{"street":"Mill Lane"}}');
});

test.for([
  ["deny", '{"action":"decline"}'],
  ["approve", '{"action":"decline"}'],
] as const)("%s without an answer declines a form that needs one", async ([verb, expected]) => {
  const text = await order({ elicitation: "ask" }, async (run) => run[verb]((await questionOf(run)).id));
  expect(text).toContain(expected);
});

test("a server's question is declined by default", async () => {
  const text = await order({}, async () => undefined);
  expect(text).toContain("client capabilities do not declare");
});
