import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { govern, type GovernedFetch } from "reeve/govern";
import type { FakeProvider } from "reeve/testing";
import { expect, test } from "vitest";
import {
  ask,
  everyWay,
  everyWayWith,
  failure,
  look,
  openDouble,
  user,
  type ProviderName,
} from "../testing/real-providers.ts";

const prices = { "double-1": { input: 2_000_000, output: 8_000_000 } };

/** A model of the real library that makes its requests with a governed `fetch`. */
function modelOf(name: ProviderName, { baseURL }: FakeProvider, fetch: GovernedFetch): LanguageModelV4 {
  const settings = { baseURL, apiKey: "secret", fetch };
  switch (name) {
    case "chat":
      return createOpenAI(settings).chat("double-1");
    case "responses":
      return createOpenAI(settings).responses("double-1");
    case "anthropic":
      return createAnthropic(settings)("double-1");
    case "compatible":
      return createOpenAICompatible({ ...settings, name: "compatible" })("double-1");
  }
}

function bodyOf(init: RequestInit | undefined): unknown {
  return typeof init?.body === "string" ? JSON.parse(init.body) : null;
}

function tokensOfBill({ bill }: FakeProvider): number {
  const { inputTokens, outputTokens } = bill.total();
  return inputTokens + outputTokens;
}

test.each(everyWay)("$name, $mode: the reservation becomes the provider's bill", async ({ name, mode }) => {
  const double = await openDouble({ script: () => ({ text: "at the brook", cachedTokens: 3 }) });
  const fetch = govern.fetch({ budget: { maxCostUsd: 0.1 }, prices });
  const { text } = await ask(modelOf(name, double, fetch), mode, { tools: [look] });
  expect(text).toBe("at the brook");
  const { settled, reserved, inDoubt } = fetch.account.spend;
  expect(settled).toEqual({ tokens: tokensOfBill(double), costMicros: double.bill.costMicros(prices) });
  expect([reserved.tokens, inDoubt.tokens]).toEqual([0, 0]);
});

test.each(everyWay)("$name, $mode: a call gets at most the output that fits", async ({ name, mode }) => {
  const double = await openDouble({ script: () => ({ text: "word ".repeat(2_000) }) });
  const fetch = govern.fetch({ budget: { maxTokens: 500 } });
  const { finishReason } = await ask(modelOf(name, double, fetch), mode, { maxOutputTokens: 2_000 });
  expect(finishReason).toBe("length");
  expect(tokensOfBill(double)).toBeLessThanOrEqual(500);
  expect(tokensOfBill(double)).toBeGreaterThan(200);
});

test.each(everyWay)("$name, $mode: a call that does not fit is never made", async ({ name, mode }) => {
  const double = await openDouble();
  const fetch = govern.fetch({ budget: { maxTokens: 20 } });
  const error = await failure(ask(modelOf(name, double, fetch), mode));
  expect(error).toMatchObject({ statusCode: 402, isRetryable: false });
  expect(error).toMatchObject({ message: expect.stringContaining("tokens budget exhausted: 0 of 20 used") });
  expect(double.bill.entries).toEqual([]);
});

test.each(everyWay)("$name, $mode: a refusal of the provider costs nothing", async ({ name, mode }) => {
  const double = await openDouble({ script: () => ({ fault: "rate-limit" }) });
  const fetch = govern.fetch({ budget: { maxTokens: 5_000 } });
  await failure(ask(modelOf(name, double, fetch), mode));
  expect(fetch.account.spend).toMatchObject({ settled: { tokens: 0 }, inDoubt: { tokens: 0 }, turns: 1 });
});

const mishaps = ["executed-then-reset", "missing-usage", "absurd-usage", "cut"] as const;

test.each(everyWayWith(mishaps))(
  "$name, $mode: a call that ends with $value stays booked at its ceiling",
  async (way) => {
    const { name, mode, value: kind } = way;
    const fault = kind === "cut" ? { kind, afterBytes: 40 } : kind;
    const double = await openDouble({ script: () => ({ text: "at the brook", fault }) });
    const fetch = govern.fetch({ budget: { maxTokens: 5_000 } });
    await ask(modelOf(name, double, fetch), mode).catch(() => {});
    const { settled, reserved, inDoubt } = fetch.account.spend;
    expect([settled.tokens, reserved.tokens]).toEqual([0, 0]);
    expect(inDoubt.tokens).toBeGreaterThanOrEqual(tokensOfBill(double));
  },
);

test("an aborted stream stays booked at its ceiling", async () => {
  const fault = { kind: "hang", afterBytes: 2_000 } as const;
  const double = await openDouble({ script: () => ({ text: "word ".repeat(50), fault }) });
  const fetch = govern.fetch({ budget: { maxTokens: 5_000 } });
  const abort = new AbortController();
  const { stream } = await modelOf("chat", double, fetch).doStream({
    prompt: user("Where is the pump?"),
    abortSignal: abort.signal,
  });
  abort.abort();
  const reading = stream.pipeTo(new WritableStream());
  await expect(reading).rejects.toThrow("abort");
  expect(fetch.account.doubts).toHaveLength(1);
});

test("several answers of one request share the limit", async () => {
  const double = await openDouble();
  const sent: unknown[] = [];
  const fetch = govern.fetch({
    budget: { maxTokens: 1_000 },
    fetch: (input, init) => {
      sent.push(bodyOf(init));
      return globalThis.fetch(input, init);
    },
  });
  const body = JSON.stringify({
    model: "double-1",
    messages: [{ role: "user", content: "go" }],
    max_tokens: 300,
    n: 3,
  });
  await fetch(`${double.baseURL}/chat/completions`, { method: "POST", body });
  expect(sent).toMatchObject([{ max_tokens: 300 }]);
  expect(fetch.account.spend.turns).toBe(1);
  await fetch(new Request(`${double.baseURL}/chat/completions`, { method: "POST", body }));
  expect(sent[1]).toMatchObject({ n: 3 });
});

test.each([
  [
    "a picture",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }] },
  ],
  ["a search by the provider", { web_search_options: {} }],
  ["a tool of the provider", { tools: [{ type: "web_search" }] }],
])("%s has no token bound and is refused under a limit unless allowed", async (_, more) => {
  const made: unknown[] = [];
  const fetch = async (): Promise<Response> => {
    made.push(1);
    return Response.json({ usage: { prompt_tokens: 10, completion_tokens: 5 } });
  };
  const body = JSON.stringify({ model: "double-1", messages: [], ...more });
  const send = (governed: GovernedFetch) =>
    governed("https://api.example.com/v1/chat/completions", { method: "POST", body });
  const budget = { maxTokens: 10_000 };
  expect((await send(govern.fetch({ budget, fetch }))).status).toBe(402);
  expect(made).toEqual([]);
  expect((await send(govern.fetch({ budget, fetch, unbounded: "allow" }))).status).toBe(200);
  expect((await send(govern.fetch({ fetch }))).status).toBe(200);
});

test("a request that cannot be counted is refused under a limit; a GET request is not", async () => {
  const governed = govern.fetch({
    budget: { maxTokens: 10_000 },
    fetch: async () => new Response("ok"),
  });
  const images = "https://api.openai.com/v1/images/generations";
  expect((await governed(images, { method: "POST", body: "{}" })).status).toBe(402);
  expect((await governed("https://api.openai.com/v1/models")).status).toBe(200);
});

test("OpenAI gets the limit in the field that all of its models take, and is priced from the list", async () => {
  const bodies: unknown[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    bodies.push(bodyOf(init));
    return Response.json({ usage: { prompt_tokens: 10, completion_tokens: 5 } });
  };
  const governed = govern.fetch({ budget: { maxCostUsd: 1 }, fetch });
  const body = JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content: "go" }] });
  await governed("https://api.openai.com/v1/chat/completions", { method: "POST", body });
  expect(bodies).toMatchObject([{ max_completion_tokens: 4_096 }]);
  expect(governed.account.spend.settled.costMicros).toBeGreaterThan(0);
});

const chunk = (completion_tokens: number): string =>
  `data: ${JSON.stringify({ choices: [{ delta: {} }], usage: { prompt_tokens: 10, completion_tokens } })}\r\n\r\n`;

/** Returns the spend after a stream of these pieces. */
async function spendOf(pieces: readonly string[]) {
  const headers = { "content-type": "text/event-stream" };
  const governed = govern.fetch({
    fetch: async () =>
      new Response(ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()), { headers }),
  });
  const body = JSON.stringify({ model: "double-1", messages: [], stream: true });
  const response = await governed("https://api.example.com/v1/chat/completions", { method: "POST", body });
  expect(await response.text()).toBe(pieces.join(""));
  return governed.account.spend;
}

test("a stream that reports usage with every event is settled with the last one", async () => {
  const events = [chunk(1), chunk(7), "data: [DO", "NE]\r\n\r\n"];
  expect(await spendOf(events)).toMatchObject({ settled: { tokens: 17 }, inDoubt: { tokens: 0 } });
  const cut = await spendOf(events.slice(0, 2));
  expect(cut.settled.tokens).toBe(0);
  expect(cut.inDoubt.tokens).toBeGreaterThan(17);
});
