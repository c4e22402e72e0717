import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ChatMessage, ModelError, type ChatMiddleware, type ModelResponse } from "#kernel";
import { checkAnswer } from "../turn/structured-output.ts";

/** Options of a validation. */
export interface ValidateOptions {
  /** Maximum number of times that a wrong answer is sent back. Default: 1. */
  readonly repairs?: number | undefined;
}

/**
 * Checks a text answer against a schema. A wrong one is sent back to the model with the problems, as a separate call:
 * through the layers inside this one, the gate, and charged. Outer layers see only the repaired answer. An answer with
 * tool calls, or one truncated by a budget, passes.
 *
 * @throws ModelError of kind `format` when the last repair is wrong, too.
 */
export function validate(schema: StandardSchemaV1, { repairs = 1 }: ValidateOptions = {}): ChatMiddleware {
  return {
    name: "validate",
    repeats: true,
    async process(context, next) {
      const { messages } = context;
      try {
        for (let made = 0; ; made++) {
          await next();
          const issues = await issuesOf(schema, context.result);
          if (issues === null || !context.result) return;
          if (made === repairs)
            throw new ModelError({ kind: "format", message: `invalid answer: ${issues}` });
          const complaint = `That does not match: ${issues}. Answer again, corrected, and with nothing else.`;
          context.messages = [...context.messages, context.result.message, ChatMessage.user(complaint)];
        }
      } finally {
        context.messages = messages;
      }
    },
  };
}

async function issuesOf(schema: StandardSchemaV1, result: ModelResponse | undefined): Promise<string | null> {
  if (!result || result.shrunk) return null;
  if (result.message.content.some(({ type }) => type === "tool-call")) return null;
  const checked = await checkAnswer(schema, ChatMessage.text(result.message));
  return "issues" in checked ? checked.issues : null;
}
