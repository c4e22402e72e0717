import { AgentId, ChatMessage, type Agent, type ContentBlock, type Model } from "#kernel";
import { Runtime } from "#runtime";
import { local } from "reeve/engines/local";
import { expect, test } from "vitest";
import { dollars } from "./metered-model.ts";

const picture: ContentBlock = { type: "file", mediaType: "image/png", source: { base64: "AAAA" } };

/** Asks about a picture, three times, under a cap. */
async function look(more: Partial<Model>, maxTokens: number, content: readonly ContentBlock[] = [picture]) {
  let calls = 0;
  const model: Model = {
    id: "claude-sonnet-4-5",
    price: dollars,
    ...more,
    async generate() {
      calls++;
      return {
        message: ChatMessage.assistant("ok"),
        usage: { input: 4_700, output: 5 },
        finishReason: "stop",
      };
    },
  };
  const lead: Agent = {
    id: AgentId.of("lead"),
    model,
    async run(ctx) {
      for (let index = 0; index < 3; index++)
        await ctx.llm([{ role: "user", content: [...content] }], { maxOutputTokens: 20 });
      return "done";
    },
  };
  await using runtime = new Runtime({ agents: [lead], engine: local() });
  const { error, usage } = await (await runtime.start(lead, "go", { budget: { maxTokens } })).result();
  return { calls, error, tokens: usage.input + usage.output };
}

test("a picture with a known token bound is sent under a cap, and the cap holds", async () => {
  const { calls, tokens } = await look({ provider: "anthropic.messages" }, 12_000);
  expect(calls).toBe(2);
  expect(tokens).toBeLessThanOrEqual(12_000);
});

test("a picture without a known bound is refused under a cap, with the option that allows it", async () => {
  const { calls, error } = await look({ provider: "my-proxy.chat" }, 12_000);
  expect(calls).toBe(0);
  expect(error).toMatchObject({ code: "budget-exhausted", reason: "unbounded" });
  expect(error?.message).toContain("languageModel(model, { maxFileTokens:");
  const allowed = await look({ provider: "my-proxy.chat", maxFileTokens: 4_800 }, 12_000);
  expect([allowed.calls, allowed.tokens]).toEqual([2, 9_410]);
});

test("a part that writes to the cache is refused under a cap if the price has no rate for that", async () => {
  const cached: ContentBlock = {
    type: "text",
    text: "long",
    providerData: { anthropic: { cacheControl: { type: "ephemeral" } } },
  };
  const refused = await look({}, 12_000, [cached]);
  expect([refused.calls, refused.error?.["reason"]]).toEqual([0, "unbounded"]);
  expect(refused.error?.message).toContain("cacheWrite");
  expect((await look({ price: { ...dollars, cacheWrite: 4 } }, 12_000, [cached])).calls).toBeGreaterThan(0);
});
