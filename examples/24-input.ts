// Input is content: text, data and files. Large files are stored once per tree; the model gets their bytes with each
// call.
import assert from "node:assert/strict";
import { agent, ChatMessage, createRuntime, type Model } from "reeve";
import { engine } from "./engine.ts";

// A fake model: it answers with its prompt.
const model: Model = {
  id: "eyes",
  contextWindow: 200_000, // bounds a prompt with files, so that a cap can hold
  generate: async ({ messages }) => {
    const parts = messages.flatMap(({ content }) => content);
    const seen = parts.map((part) => (part.type === "file" ? `${part.mediaType} ${part.name}` : part.type));
    const usage = { input: 1_200, output: 8 };
    return { message: ChatMessage.assistant(seen.join(", ")), usage, finishReason: "stop" };
  },
};

const reviewer = agent({ name: "reviewer", model });
await using runtime = createRuntime({ agents: [reviewer], engine });
await runtime.serve({ port: 0 });

const input = {
  text: "Compare the photo with the report.",
  data: { page: 3 },
  files: [
    { mediaType: "image/png", name: "photo.png", data: new Uint8Array(5_000_000) },
    { mediaType: "application/pdf", name: "report.pdf", data: new Uint8Array(200_000) },
  ],
};
const budget = { maxTokens: 250_000 };
// The files are from an unknown sender: everything derived from them is marked untrusted.
const run = await runtime.start(reviewer, input, { budget, labels: { untrusted: true } });
const { output, labels } = await run.result();
console.log(output, labels);
assert.equal(output, "text, data, image/png photo.png, application/pdf report.pdf");
assert.equal(labels?.untrusted, true);

const executable = { mediaType: "application/x-msdownload", data: new Uint8Array(1) };
await assert.rejects(runtime.start(reviewer, { files: [executable] }), { code: "invalid-input" });
