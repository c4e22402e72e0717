import type { ChatMessage, ContentBlock, FileBlock, ToolDescription } from "#kernel";
import { wireField, type ModelName } from "#models";

/** A prompt as it is measured: each message is one block with everything that is sent of it, and its files. */
export interface WirePrompt {
  readonly model: ModelName;
  /** What else decides how many tokens the same messages are. */
  readonly setting: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** Whether the provider adds something that is not in the prompt: a conversation it keeps, a tool it runs. */
  readonly isOpenEnded: boolean;
}

const thinking: ReadonlySet<string> = new Set(["reasoning", "thinking", "redacted_thinking"]);

/** The kinds of parts that are no more than their own bytes, in the AI SDK and on the wires. All others are files. */
const textual: ReadonlySet<string> = new Set([
  ...thinking,
  // The AI SDK.
  "text",
  "tool-call",
  "tool-result",
  "tool-approval-response",
  "json",
  "error-text",
  "error-json",
  "execution-denied",
  "content",
  // OpenAI.
  "message",
  "input_text",
  "output_text",
  "refusal",
  "function",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  // Anthropic.
  "tool_use",
  "tool_result",
]);

/** Measures a message of any wire by what is sent of it. */
export function wireMessage(message: unknown): ChatMessage {
  const parts = [message, ...partsOf(message)].filter((part) => isText(wireField(part, "type")));
  const kinds = parts.map((part) => String(wireField(part, "type")));
  const files = parts.filter((part) => !textual.has(String(wireField(part, "type"))));
  const text = JSON.stringify(message, files.length > 0 ? withoutBytes : undefined);
  const said: ContentBlock = { type: kinds.some((kind) => thinking.has(kind)) ? "reasoning" : "text", text };
  return { role: "user", content: [said, ...files.map(wireFile)] };
}

/** A file of which only the kind counts: its bytes are left out of the message, and its text is in it. */
function wireFile(part: unknown): FileBlock {
  const told = wireField(part, "mediaType");
  const isPicture = /^(?:image|image_url|input_image|image-data|image-url)$/.test(
    String(wireField(part, "type")),
  );
  const isImage = isPicture || (isText(told) && told.startsWith("image/"));
  return { type: "file", mediaType: isImage ? "image/*" : "application/octet-stream", source: { url: "" } };
}

/** Measures a tool, or anything else that is said besides the messages, by what is sent of it. */
export function wireTool(tool: unknown): ToolDescription {
  return { name: "", description: JSON.stringify(tool) ?? "", inputSchema: {} };
}

/** Every part of a message, those inside the results of tools included. Arguments and results as such have none. */
function partsOf(holder: unknown): readonly unknown[] {
  const inside = ["content", "output", "value"].flatMap((name) => {
    const held = wireField(holder, name);
    if (Array.isArray(held)) return name === "value" && wireField(holder, "type") !== "content" ? [] : held;
    return name === "output" && typeof held === "object" && held !== null ? [held] : [];
  });
  return inside.concat(inside.flatMap(partsOf));
}

/** Which kind of cache a prompt is written to, which costs more. */
export function cacheWrites({ setting, tools, messages }: WirePrompt): "5m" | "1h" | undefined {
  const wire = [
    setting,
    ...tools.map(({ description }) => description),
    ...messages.flatMap(({ content }) => content.map((block) => ("text" in block ? block.text : ""))),
  ];
  const control = /(?<!\\)"cache(?:Control|_control|Point)":/;
  if (!wire.some((text) => control.test(text))) return undefined;
  return wire.some((text) => /(?<!\\)"ttl":"1h"/.test(text)) ? "1h" : "5m";
}

const encoded = /^(?:data:[^,]*,)?[\w+/=-]{1000,}$/;

function withoutBytes(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array || (isText(value) && encoded.test(value)) ? "" : value;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
