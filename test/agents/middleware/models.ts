import { ModelError, tool, type ModelErrorKind, type Risk } from "reeve";
import { fail, type ScriptedAnswer } from "reeve/testing";
import { z } from "zod";

export const price = { input: 1_000_000, output: 1_000_000 };

/** A failure for which nothing is charged. */
export const broken = (kind: ModelErrorKind, retryAfterMs: number | null = null): ScriptedAnswer =>
  fail(new ModelError({ kind, message: kind, unbilled: true, retryAfterMs }));

/** A tool that notes what it was asked, and does as it is told. */
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
