import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ChatMessage, Json, type RunContext } from "#kernel";
import { strictJson } from "#models";
import { jsonSchemaOf } from "../tools/tool.ts";

const maxRepairs = 2;

/** What the system prompt says about the form of the answer. */
export function outputInstruction(schema: StandardSchemaV1): string {
  return `Answer with one JSON value and nothing else. It must match this JSON Schema:\n${JSON.stringify(jsonSchemaOf(schema))}`;
}

/** Holds an answer against its schema; a wrong one goes back to the model, at the run's expense. */
export async function structured(
  ctx: RunContext,
  schema: StandardSchemaV1,
  messages: ChatMessage[],
  answer: string,
): Promise<{ readonly value: Json } | { readonly issues: string }> {
  let text = answer;
  for (let repair = 0; ; repair++) {
    const given = text;
    const checked = await ctx.step("output", () => checkAnswer(schema, given), { input: given });
    if ("value" in checked || repair === maxRepairs) return checked;
    messages.push(
      ChatMessage.user(`That does not match: ${checked.issues}. Answer again with the corrected JSON only.`),
    );
    const { message } = await ctx.llm(messages);
    messages.push(message);
    text = ChatMessage.text(message);
  }
}

type Checked = { readonly value: Json } | { readonly issues: string };

/** An answer in words as the value it should be; a code fence around it is no mistake. */
export async function checkAnswer(schema: StandardSchemaV1, text: string): Promise<Checked> {
  const parsed = parse(text);
  if (parsed === undefined) return { issues: "it is not JSON" };
  const result = await schema["~standard"].validate(parsed);
  if (!result.issues) return { value: Json.of(result.value ?? null) };
  return { issues: result.issues.map(({ message, path }) => `${pathOf(path)}${message}`).join("; ") };
}

/** Models like to wrap JSON into a code fence. */
function parse(text: string): Json | undefined {
  const inner = /```(?:json)?([\s\S]*?)```/.exec(text)?.[1] ?? text;
  const read = strictJson(inner.trim());
  return "value" in read ? read.value : undefined;
}

function pathOf(path: StandardSchemaV1.Issue["path"]): string {
  if (!path || path.length === 0) return "";
  return `${path.map((part) => String(typeof part === "object" ? part.key : part)).join(".")}: `;
}
