import type { ChatMessage, ContentBlock, FileBlock, ToolDescription } from "#kernel";
import { wireField, type ModelName } from "#models";

/** A prompt in the form in which it is measured: each message is one block with its whole wire form, and its files. */
export interface WirePrompt {
  readonly model: ModelName;
  /** Other settings that change the token count of the same messages. */
  readonly setting: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
  /** Whether the provider adds something that is not in the prompt: a conversation it keeps, a tool it runs. */
  readonly isOpenEnded: boolean;
}

const thinking: ReadonlySet<string> = new Set(["reasoning", "thinking", "redacted_thinking"]);

/** Kinds of parts that cost no more than their bytes, in the AI SDK and on the wires. All other kinds are files. */
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

/** Measures a message of any wire by its wire form. */
export function wireMessage(message: unknown): ChatMessage {
  const parts = [message, ...listWireParts(message)].filter((part) => isText(wireField(part, "type")));
  const kinds = parts.map((part) => String(wireField(part, "type")));
  const files = parts.filter((part) => !textual.has(String(wireField(part, "type"))));
  const text = JSON.stringify(message, files.length > 0 ? withoutBytes : undefined);
  const said: ContentBlock = { type: kinds.some((kind) => thinking.has(kind)) ? "reasoning" : "text", text };
  return { role: "user", content: [said, ...files.map(wireFile)] };
}

/** Returns a file of which only the kind counts: its bytes are removed from the message, its text is part of it. */
function wireFile(part: unknown): FileBlock {
  const told = wireField(part, "mediaType");
  const isPicture = /^(?:image|image_url|input_image|image-data|image-url)$/.test(
    String(wireField(part, "type")),
  );
  const isImage = isPicture || (isText(told) && told.startsWith("image/"));
  return { type: "file", mediaType: isImage ? "image/*" : "application/octet-stream", source: { url: "" } };
}

/** Measures a tool, or any other part outside the messages, by its wire form. */
export function wireTool(tool: unknown): ToolDescription {
  return { name: "", description: JSON.stringify(tool) ?? "", inputSchema: {} };
}

/** Returns every part of a message, those inside tool results included. Arguments and results themselves have none. */
function listWireParts(holder: unknown): readonly unknown[] {
  const inside = ["content", "output", "value"].flatMap((name) => {
    const held = wireField(holder, name);
    if (Array.isArray(held)) return name === "value" && wireField(holder, "type") !== "content" ? [] : held;
    return name === "output" && typeof held === "object" && held !== null ? [held] : [];
  });
  return inside.concat(inside.flatMap(listWireParts));
}

/** Returns the kind of cache that the prompt is written to, which costs more. Undefined if none. */
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
