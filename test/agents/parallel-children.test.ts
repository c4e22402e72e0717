import { agent, ChatMessage, type Model, type ModelResponse, type Usage } from "reeve";
import { testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { eventsOf } from "./events-of.ts";

/** A model with up to 5,700 output tokens at 15 dollars per million: each call reserves about 0.09 dollars. */
function expensiveModel(id: string, answer: (call: number) => Omit<ModelResponse, "finishReason">): Model {
  let calls = 0;
  return {
    id,
    price: { input: 3_000_000, output: 15_000_000 },
    maxOutputTokens: 5_700,
    generate: async () => ({ finishReason: "stop", ...answer(calls++) }),
  };
}

const answerOf = (text: string, usage: Usage) => ({ message: ChatMessage.assistant(text), usage });

test.each([0.3, 0.2, 0.1])(
  "five concurrent children whose work costs 0.077 dollars all complete under a cap of %d dollars",
  async (maxCostUsd) => {
    const children = Array.from({ length: 5 }, (_, index) => ({
      type: "tool-call" as const,
      callId: `call-${index}`,
      name: "ask_researcher",
      input: { task: `part ${index}` },
    }));
    const researcher = agent({
      name: "researcher",
      model: expensiveModel("small", () => answerOf("a finding", { input: 300, output: 780 })),
    });
    const lead = agent({
      name: "lead",
      team: [researcher],
      model: expensiveModel("large", (call) =>
        call === 0
          ? { message: { role: "assistant", content: children }, usage: { input: 500, output: 200 } }
          : answerOf("the report", { input: 1_500, output: 300 }),
      ),
    });
    await using runtime = testRuntime({ agents: [lead, researcher] });
    const run = await runtime.start(lead, "go", { budget: { maxCostUsd } });
    expect(await run.result()).toMatchObject({
      status: "completed",
      output: "the report",
      costMicros: 76_500,
    });
    const ends = eventsOf(await runtime.events(run), "run.end");
    expect(ends.filter(({ status }) => status === "completed")).toHaveLength(6);
  },
);
