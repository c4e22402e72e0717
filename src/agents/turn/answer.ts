import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ChatMessage, type Ended, type Json, type RunContext } from "#kernel";
import { structured } from "./structured-output.ts";
import { stoppedBy } from "./turn.ts";

/** How often the model may answer again after its answer was blocked. */
const maxRepairs = 2;

/**
 * The answer, in its form and past the guardrails, however often it had to be given. Whatever the model says last goes
 * the whole way.
 */
export async function answered(
  { ctx, messages }: { readonly ctx: RunContext; readonly messages: ChatMessage[] },
  schema: StandardSchemaV1 | undefined,
  answer: string,
): Promise<{ readonly value: Json } | { readonly failure: Ended }> {
  let text = answer;
  for (let repair = 0; ; repair++) {
    const formed = schema ? await structured(ctx, schema, messages, text) : { value: text };
    if ("issues" in formed) return { failure: malformed(text, formed.issues) };
    const { value } = formed;
    const guarded = ctx.guard("output", wordsOf(value));
    const word = guarded && (await guarded);
    if (word?.kind === "warn" && typeof value === "string")
      return { value: `${value}\n\nNote: ${word.reason}.` };
    if (word?.kind !== "block") return { value };
    if (repair === maxRepairs) return { failure: stoppedBy("output", word.reason) };
    messages.push(
      ChatMessage.user(`That answer was not let through: ${word.reason}. Answer again without it.`),
    );
    const { message } = await ctx.llm(messages);
    messages.push(message);
    text = ChatMessage.text(message);
  }
}

/** What a run hands back where a budget stopped it. Nobody can be asked again: what is blocked is withheld. */
export async function guardedEnd(ctx: RunContext, ended: Ended): Promise<Ended> {
  if (ended.output === null) return ended;
  const guarded = ctx.guard("output", wordsOf(ended.output));
  const word = guarded && (await guarded);
  return word?.kind === "block" ? stoppedBy("output", word.reason) : ended;
}

const wordsOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

function malformed(output: string, issues: string): Ended {
  const error = { code: "output", message: issues };
  return { kind: "ended", status: "failed", stopReason: "error", output, error };
}
