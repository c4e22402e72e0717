import { ModelError, tool, type Model, type ModelRequest } from "reeve";
import { type ModelErrorKind, type Risk } from "#kernel";
import { fail, type ScriptedAnswer } from "reeve/testing";
import { z } from "zod";

export const price = { input: 1_000_000, output: 1_000_000 };

/** A failure that is not billed. */
export const broken = (kind: ModelErrorKind, retryAfterMs: number | null = null): ScriptedAnswer =>
  fail(new ModelError({ kind, message: kind, unbilled: true, retryAfterMs }));

/** A tool that records its input and returns a scripted result. */
export function look(
  seen: string[],
  act: (question: string) => Promise<string> = async (question) => `found ${question}`,
  more: { readonly risk?: Risk; readonly idempotent?: boolean } = {},
) {
  return tool({
    name: "look",
    description: "Looks something up",
    input: z.object({ question: z.string() }),
    risk: "safe",
    ...more,
    execute: async ({ question }) => {
      seen.push(question);
      return act(question);
    },
  });
}

/** A model whose answers depend on the prompt. */
export function modelAnswering(
  ...answers: readonly ((request: ModelRequest) => ScriptedAnswer)[]
): Model & { readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: "answering",
    price,
    requests,
    async generate(request) {
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push({ ...request, messages: [...request.messages] });
      if (!answer) throw new Error("there is no answer");
      const { message, finishReason } = answer(request);
      return { message, finishReason, usage: { input: 10, output: 5 } };
    },
  };
}
