import assert from "node:assert/strict";
import { type Agent, ChatMessage, type Json, type Model, RunId, type StepId, type Store } from "#kernel";
import { agent, tool } from "#agents";
import type { Runtime, StepPrompt } from "#runtime";
import { memoryStore } from "#stores/memory";
import { eventually, onRuntime, type EngineCase } from "./harness.ts";

const anyInput = {
  "~standard": { version: 1, vendor: "reeve", validate: (value: unknown) => ({ value }) },
} as const;

const look = tool({
  name: "look",
  description: "Looks something up",
  input: anyInput,
  risk: "safe",
  execute: () => "the canary sings",
});

/** A model that calls a tool first, and then answers. Notes the messages that it was sent, one list a call. */
function notingModel(calls: string, sent: string[]): Model {
  return {
    id: `noting-${calls}`,
    async generate({ messages }) {
      sent.push(JSON.stringify(messages));
      const usage = { input: 10, output: 10 };
      if (messages.at(-1)?.role === "tool")
        return { message: ChatMessage.assistant("an answer"), usage, finishReason: "stop" };
      const input = { task: "listen to the canary" };
      const content = [{ type: "tool-call", callId: "1", name: calls, input }] as const;
      return { message: { role: "assistant", content }, usage, finishReason: "tool-calls" };
    },
  };
}

function createTeam(): { readonly sent: string[]; readonly lead: Agent } {
  const sent: string[] = [];
  const child = agent({
    name: "child",
    instructions: "Look.",
    model: notingModel("look", sent),
    tools: [look],
  });
  const lead = agent({
    name: "lead",
    instructions: "Ask.",
    model: notingModel("ask_child", sent),
    team: [child],
  });
  return { sent, lead };
}

/** The place of a step in its run: two may begin in the same millisecond. */
const numberOf = ({ stepId }: { readonly stepId: StepId }): number => Number(stepId.split(":")[2]);

/** The steps of the first runs of a tree, with their content. */
async function readTree(runtime: Runtime, run: RunId): Promise<readonly StepPrompt[]> {
  const steps: StepPrompt[] = [];
  for (const number of [0, 1]) {
    const { items } = await runtime.steps(RunId.of(RunId.tree(run), number));
    const inOrder = items.toSorted((a, b) => numberOf(a) - numberOf(b));
    for (const { stepId } of inOrder) steps.push(await runtime.prompt(stepId));
  }
  return steps;
}

const isModel = ({ manifest }: StepPrompt): boolean => manifest?.kind === "model";

/** The messages of a prompt, without the tools. */
const messagesOf = ({ prompt }: StepPrompt): readonly Json[] =>
  prompt.filter(({ role }) => role !== "tools").map(({ content }) => content);

const kindsOf = (steps: readonly StepPrompt[]): readonly string[] =>
  steps.map(({ manifest, content }) => `${manifest?.name ?? "unknown"} ${content}`);

/** The content of steps: manifests and texts. */
export const stepContentCases: readonly EngineCase[] = [
  {
    name: "the prompt of every model call, a child's included, can be rebuilt until the tree is erased",
    run: (harness) => {
      const { sent, lead } = createTeam();
      const store: Store = memoryStore();
      return onRuntime(harness, { agents: [lead], store, eraseAfterS: 3 }, async (runtime) => {
        const run = await runtime.start(lead, "what does the canary do?");
        assert.equal((await run.result()).output, "an answer");
        const steps = await readTree(runtime, run.runId);
        assert.deepEqual(kindsOf(steps), [
          "noting-ask_child recorded",
          "ask_child recorded",
          "noting-ask_child recorded",
          "noting-look recorded",
          "look recorded",
          "noting-look recorded",
        ]);
        assert.ok(steps.every(({ isEqual }) => isEqual));
        const built = steps.filter(isModel).map((step) => JSON.stringify(messagesOf(step)));
        assert.deepEqual(built.toSorted(), sent.toSorted());
        await eventually("the child's content is erased", async () => {
          const { content } = await runtime.prompt(steps.at(-1)?.stepId ?? "");
          return content === "erased";
        });
        const after = await readTree(runtime, run.runId);
        assert.deepEqual(
          after.map(({ content, isEqual }) => [content, isEqual]),
          after.map((_, index) => (index < 3 ? ["recorded", true] : ["erased", false])),
        );
        const texts = after.slice(3).map(({ prompt, answer, manifest }) => ({ prompt, answer, manifest }));
        assert.ok(!JSON.stringify(texts).includes("canary"));
      });
    },
  },
];
