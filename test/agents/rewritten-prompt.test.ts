import { agent, type ChatMiddleware } from "reeve";
import { fakeProvider, testRuntime } from "reeve/testing";
import { createAnthropic } from "@ai-sdk/anthropic";
import { expect, test } from "vitest";

test("a provider's count of a prompt cut by a layer is not a bound for the whole prompt", async () => {
  let calls = 0;
  await using double = await fakeProvider({
    script: () => (++calls === 1 ? { text: "a" } : { text: "b" }),
  });
  const long = "pump ".repeat(2_000);
  const cutFirst: ChatMiddleware = {
    process: async (context, next) => {
      if (calls === 0) context.messages = [{ role: "user", content: [{ type: "text", text: "short" }] }];
      await next();
    },
  };
  const model = createAnthropic({ baseURL: double.baseURL, apiKey: "none" })("claude-sonnet-4-5");
  const writer = agent({ name: "writer", model, middleware: { chat: [cutFirst] }, maxOutputTokens: 100 });
  await using t = testRuntime({ agents: [writer] });
  const run = await t.runtime.start(writer, long, { budget: { maxTokens: 100_000 } });
  await run.followUp("and now?");
  await run.result();
  const reserved: number[] = [];
  for await (const event of run.events()) if (event.type === "budget.reserved") reserved.push(event.tokens);
  const [, second] = double.bill.entries;
  expect(reserved).toHaveLength(2);
  expect(reserved[1]).toBeGreaterThanOrEqual((second?.inputTokens ?? Infinity) + 100);
});
