import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  ChatMessage,
  OutputError,
  type Json,
  type LlmOptions,
  type Model,
  type RunContext,
  type ThinkOptions,
  type Usage,
} from "#kernel";
import { joinParagraphs } from "../prompt/system-prompt.ts";
import type { CallOptions } from "./landing.ts";
import { checkAnswer, OutputForm } from "./structured-output.ts";

/** Maximum characters of a wrong answer that the error shows. */
const maxShown = 2_000;

/** The leader whose model is called. */
export interface Thinker {
  readonly ctx: RunContext;
  readonly name: string;
  readonly model: Model;
  /** The agent's instructions, if they are a text. */
  readonly instructions: string;
  readonly request: CallOptions;
  readonly maxOutputTokens: number | undefined;
  /** Called with the tokens of each call. */
  readonly onUsage: (usage: Usage) => void;
}

/**
 * Makes a separate model call of the leader, without tools. An answer that does not match the schema is sent back once.
 * @throws OutputError
 */
export async function think<Answer>(
  thinker: Thinker,
  prompt: string,
  { schema, instructions = thinker.instructions, history = false }: ThinkOptions<Answer> = {},
): Promise<Json> {
  const { ctx, name, model, request, maxOutputTokens } = thinker;
  const form = schema && OutputForm.of(name, schema, model);
  const system = joinParagraphs([instructions, form && !form.native ? OutputForm.instruction(form) : ""]);
  const messages = [...(system === "" ? [] : [ChatMessage.system(system)]), ChatMessage.user(prompt)];
  const options: LlmOptions = {
    ...request,
    history,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(form?.native && { outputSchema: form.jsonSchema }),
  };
  for (let repairs = 0; ; repairs += 1) {
    const { message, usage } = await ctx.llm(messages, options);
    if (usage) thinker.onUsage(usage);
    const text = ChatMessage.text(message);
    if (!schema || !form) return text;
    const checked = await checkInStep(ctx, schema, text);
    if ("value" in checked) return checked.value;
    if (repairs > 0)
      throw new OutputError({
        message: `the answer does not match its schema, after ${repairs} repair: ${checked.issues}`,
        answer: text.slice(0, maxShown),
      });
    messages.push(
      message,
      ChatMessage.user(`That does not match: ${checked.issues}. ${OutputForm.instruction(form)}`),
    );
  }
}

/** Checks an answer. The check is a step, because a schema may be nondeterministic code. */
function checkInStep(
  ctx: RunContext,
  schema: StandardSchemaV1,
  text: string,
): ReturnType<typeof checkAnswer> {
  return ctx.step("output", () => checkAnswer(schema, text), { input: text });
}
