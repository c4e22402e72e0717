import { Json, type JsonObject } from "#kernel";
import { govern } from "reeve/govern";
import { expect, test } from "vitest";

const openai = "https://api.openai.com/v1/chat/completions";

/** Sends one request under a cap. Returns the reservation and the sent request. */
async function send(fields: JsonObject, { url = openai, allowOptions = [] as readonly string[] } = {}) {
  const bodies: JsonObject[] = [];
  const reserved: number[] = [];
  const governed = govern.fetch({
    budget: { maxCostUsd: 0.05 },
    prices: { "gpt-5": { input: 1_000_000, output: 10_000_000 } },
    allowOptions,
    onEvent: (event) => void (event.type === "budget.reserved" && reserved.push(event.tokens)),
    fetch: async (_url, init) => {
      bodies.push(Json.as<JsonObject>(JSON.parse(typeof init?.body === "string" ? init.body : "")));
      return Response.json({ usage: { prompt_tokens: 10, completion_tokens: 5 } });
    },
  });
  const messages = [{ role: "user", content: "hi" }];
  const body = JSON.stringify({ model: "gpt-5", messages, ...fields });
  const response = await governed(url, { method: "POST", body });
  return {
    status: response.status,
    body: bodies[0],
    reserved: reserved[0] ?? 0,
    answer: await response.json(),
  };
}

function limitOf(body: JsonObject = {}): number {
  const limits = ["max_tokens", "max_completion_tokens"].map((name) => Number(body[name] ?? 0));
  return Math.max(...limits) * Number(body["n"] ?? 1) * Number(body["best_of"] ?? 1);
}

test.for<[JsonObject, string?]>([
  [{}],
  [{ max_tokens: 50, max_completion_tokens: 100_000 }],
  [{ max_completion_tokens: 100_000 }],
  [{ n: 8, max_completion_tokens: 1_000 }],
  [{ best_of: 20, max_completion_tokens: 1_000 }],
  [{ max_tokens: null, max_completion_tokens: "100000" }],
  [{ max_tokens: -1 }, "https://api.deepseek.com/v1/chat/completions"],
  [{ max_tokens: 2.5, max_completion_tokens: 1e9 }],
  [{ temperature: 0.5, seed: 1, user: "u", service_tier: "flex" }],
])("%j: no field lets the provider answer with more than is reserved", async ([fields, url]) => {
  const { status, body, reserved } = await send(fields, url ? { url } : {});
  expect(status).toBe(200);
  expect(limitOf(body)).toBeGreaterThan(0);
  expect(limitOf(body) + 2).toBeLessThanOrEqual(reserved);
});

test.for<[string, JsonObject]>([
  ["n", { n: "8" }],
  ["n", { n: 2.5 }],
  ["service_tier", { service_tier: "priority" }],
  ["prediction", { prediction: { type: "content", content: "x" } }],
  ["not_yet_known", { not_yet_known: {} }],
])("the field %s of unknown cost is refused, with the line that allows it: %j", async ([name, fields]) => {
  const refused = await send(fields);
  expect([refused.status, refused.body]).toEqual([402, undefined]);
  const line = `allow it with govern.fetch({ allowOptions: ["${name}"] })`;
  expect(JSON.stringify(refused.answer)).toContain(JSON.stringify(line).slice(1, -1));
  expect((await send(fields, { allowOptions: [name] })).status).toBe(200);
});

test("a part of a message counts with every field it has, known or not", async () => {
  const part = { type: "text", text: "hi" };
  const image_url = { url: `http://x/${"y".repeat(500)}.png` };
  const plain = await send({ messages: [{ role: "user", content: [part] }] });
  const more = await send({ messages: [{ role: "user", content: [{ ...part, image_url }] }] });
  expect(more.reserved - plain.reserved).toBeGreaterThanOrEqual(500);
  const picture = await send({ messages: [{ role: "user", content: [{ type: "image_url", image_url }] }] });
  expect(picture.reserved - plain.reserved).toBeGreaterThan(1_000);
});

test("usage above the reservation is booked as reported, and nothing is sent after it", async () => {
  let sent = 0;
  const governed = govern.fetch({
    budget: { maxTokens: 6_000 },
    fetch: async () => {
      sent++;
      return Response.json({ usage: { prompt_tokens: 9_000, completion_tokens: 5 } });
    },
  });
  const body = JSON.stringify({ model: "gpt-5", messages: [], max_completion_tokens: 100 });
  const statuses = [];
  for (let call = 0; call < 3; call++)
    statuses.push((await governed(openai, { method: "POST", body })).status);
  expect([statuses, sent]).toEqual([[200, 402, 402], 1]);
  expect(governed.account.spend.settled.tokens).toBe(9_005);
});

test("messages that are not a list are refused, because they cannot be measured", async () => {
  const messages = { 0: { role: "user", content: "z".repeat(100_000) }, length: 1 };
  expect((await send({ messages })).status).toBe(402);
});
