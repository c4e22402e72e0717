import { ChatMessage, isJsonObject, Json, type EffectCall } from "#kernel";
import type { SampleAnswer } from "./open-client.ts";

const maxMessages = 50;

/** Calls the agent's model for a server: text only, without tools, charged to the run. */
export async function sample(
  params: unknown,
  llm: EffectCall["llm"],
  maxTokens: number,
): Promise<SampleAnswer> {
  const given = Json.of(params);
  if (!isJsonObject(given)) throw new TypeError("the request for a model call has no parameters");
  const { messages, systemPrompt, maxTokens: wanted } = given;
  const asked = Array.isArray(messages) ? messages.slice(-maxMessages).map(toSampleMessage) : [];
  const system = typeof systemPrompt === "string" ? [ChatMessage.system(systemPrompt)] : [];
  const most = typeof wanted === "number" && wanted > 0 ? Math.min(wanted, maxTokens) : maxTokens;
  const { message } = await llm([...system, ...asked], { maxOutputTokens: Math.floor(most) });
  const text = message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  return { role: "assistant", model: "reeve", content: { type: "text", text }, stopReason: "endTurn" };
}

function toSampleMessage(given: Json): ChatMessage {
  const { role, content } = isJsonObject(given) ? given : {};
  const blocks: readonly Json[] = Array.isArray(content) ? content : [content ?? null];
  const text = blocks
    .flatMap((block) => (isJsonObject(block) && typeof block["text"] === "string" ? [block["text"]] : []))
    .join("\n");
  return role === "assistant" ? ChatMessage.assistant(text) : ChatMessage.user(text);
}
