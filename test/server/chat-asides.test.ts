import { agent, ChatMessage, type Guardrail, type Model } from "reeve";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { chatWith } from "./chat.ts";
import { closing } from "./closing.ts";
import { TestServer } from "./test-server.ts";

test("an answer that is judged, and followed by a summary of the conversation, is shown once", async () => {
  const model: Model = {
    id: "fluent",
    contextWindow: 1_000,
    generate: async (_, { onDelta }) => {
      onDelta?.({ kind: "text", text: "in 1987" });
      const message = ChatMessage.assistant("in 1987");
      return { message, usage: { input: 900, output: 5 }, finishReason: "stop" };
    },
  };
  const judging: Guardrail = {
    name: "judging",
    onOutput: async (_, scope) => {
      await scope.llm([ChatMessage.user("Is it polite?")], { model: scriptedModel([say("It is.")]) });
      return { kind: "allow" };
    },
  };
  const summaries = scriptedModel([say("About a pump.")]);
  const compaction = { reserve: 200, keepRecent: 1, model: summaries };
  const site = await TestServer.open({
    agents: [agent({ name: "judged", model, guardrails: [judging], compaction })],
  });
  closing(site);
  const chat = chatWith(`${site.url}/chat/judged`, site.keys.acme.admin);
  for (const text of ["When?", "When exactly?", "Really?"]) {
    await chat.sendMessage({ text });
    expect(chat.shown.text).toBe("in 1987");
  }
  expect(summaries.requests.length).toBeGreaterThan(0);
});
