// Settings of a model, of an agent and of one call. The local server below replaces ollama, vLLM or any provider.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { agent, createRuntime, languageModel } from "reeve";

const bodies: unknown[] = [];
const server = createServer((request, response) => {
  void json(request).then((body) => {
    bodies.push(body);
    const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello." } }];
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "1", created: 0, model: "qwen3:8b", choices, usage }));
  });
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const address = server.address();
const port = typeof address === "object" && address ? address.port : 0;

const ollama = createOpenAICompatible({ name: "ollama", baseURL: `http://127.0.0.1:${port}/v1` });
const model = languageModel(ollama("qwen3:8b"), {
  price: { input: 0, output: 0 }, // free: cost budgets accept it
  settings: { temperature: 1, topP: 0.9 },
});
const writer = agent({
  name: "writer",
  model,
  settings: { temperature: 0, seed: 7 }, // override those of the model
  providerOptions: { ollama: { user: "ada" } },
  maxOutputTokens: 200,
});

await using runtime = createRuntime({ agents: [writer] });
const { output } = await (await runtime.start(writer, "Greet", { budget: { maxCostUsd: 1 } })).result();
server.close().closeAllConnections();

assert.equal(output, "Hello.");
assert.partialDeepStrictEqual(bodies, [
  { temperature: 0, top_p: 0.9, seed: 7, user: "ada", max_tokens: 200 },
]);
