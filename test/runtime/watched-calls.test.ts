import { agent, ChatMessage, createRuntime, type Guardrail, type Model } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { expect, test } from "vitest";

/** Answers with a text in one piece. */
const speaker = (text: string): Model => ({
  id: text,
  contextWindow: 1_000,
  generate: async (_, { onDelta }) => {
    onDelta?.({ kind: "text", text });
    return { message: ChatMessage.assistant(text), usage: { input: 900, output: 1 }, finishReason: "stop" };
  },
});

test("watchers of a conversation see the answers, not the text of judges and summaries", async () => {
  let judged = 0;
  const judging: Guardrail = {
    name: "judging",
    async onOutput(_, scope) {
      await scope.llm([ChatMessage.user("Is it polite?")], { model: speaker("It is.") });
      judged += 1;
      return { kind: "allow" };
    },
  };
  const compaction = { reserve: 200, keepRecent: 1, model: speaker("A summary.") };
  const lead = agent({ name: "lead", model: speaker("An answer."), guardrails: [judging], compaction });
  await using runtime = createRuntime({ agents: [lead], store: memoryStore() });
  const talk = await runtime.sessions.create(lead);
  const shown: string[] = [];
  for (const question of ["one", "two", "three"])
    for await (const piece of talk.stream(question)) if (piece.kind === "text") shown.push(piece.text);
  await talk.waitForIdle();
  expect(judged).toBe(3);
  expect(shown.join("")).toBe("An answer.".repeat(3));
});
