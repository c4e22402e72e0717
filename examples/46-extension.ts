// Extensions: handlers at the moments of a turn, for one agent and for all, and one that fails without harm.
import assert from "node:assert/strict";
import { agent, ChatMessage, ContentBlock, createRuntime, extension, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { z } from "zod";

const remove = tool({
  name: "remove",
  description: "Removes a file",
  input: z.object({ path: z.string() }),
  risk: "safe",
  execute: ({ path }) => `removed ${path}`,
});

const careful = extension({
  name: "careful",
  on: {
    input: (text) => text.trim(),
    beforeAgentStart: (prompt) => `${prompt} Be brief.`,
    toolCall: ({ input }) =>
      JSON.stringify(input).includes("/etc") ? { block: "not below /etc" } : undefined,
    toolResult: ({ result }) => ({ content: [...result.content, ContentBlock.text("(noted)")] }),
  },
});

const broken = extension({
  name: "broken",
  on: {
    context: () => {
      throw new Error("no connection");
    },
  },
});

const model = scriptedModel([
  call("remove", { path: "/tmp/draft" }, ["remove", { path: "/etc/hosts" }]),
  say("Removed the draft."),
]);
const writer = agent({
  name: "writer",
  model,
  instructions: "Tidy up.",
  tools: [remove],
  extensions: [careful],
});
await using runtime = createRuntime({ agents: [writer], extensions: [broken], log: () => undefined });

const run = await runtime.start(writer, "  go  ");
assert.equal((await run.result()).output, "Removed the draft.");

const [system, input] = model.requests[0]?.messages ?? [];
assert.equal(system && ChatMessage.text(system), "Tidy up. Be brief.");
assert.equal(input && ChatMessage.text(input), "go");
const results = JSON.stringify(model.requests[1]?.messages.at(-1));
assert.match(results, /removed \/tmp\/draft.*\(noted\)/);
assert.match(results, /not called: not below \/etc/);

// The broken extension changed only the list of errors: one for each model call.
const errors: string[] = [];
for await (const event of run.events()) if (event.type === "extension.error") errors.push(event.extension);
assert.deepEqual(errors, ["broken", "broken"]);
assert.equal(runtime.extensionErrors[0]?.error.message, "no connection");
