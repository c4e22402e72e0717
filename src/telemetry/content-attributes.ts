import type { Attributes } from "@opentelemetry/api";
import { isJsonObject, type Json, type PartRole } from "#kernel";
import { genAi } from "./conventions.ts";

/** The content of a step, as sent and answered. The result of `runtime.prompt` is one. */
export interface StepContent {
  readonly prompt: readonly ContentPart[];
  readonly answer: readonly ContentPart[];
  /** Null if nothing was recorded of the step. */
  readonly manifest: { readonly finish?: string | undefined } | null;
}

/** A message, the descriptions of the tools, or the input or result of a tool. */
interface ContentPart {
  readonly role: PartRole;
  /** Null: it is not there any more, or was never stored. */
  readonly content: Json;
}

/** Converts the content of a step into attributes of its span, each as JSON. Missing parts are left out. */
export function contentAttributes({ prompt, answer, manifest }: StepContent): Attributes {
  const attributes: Attributes = {};
  const put = (name: string, value: readonly Json[] | Json | undefined): void => {
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) attributes[name] = JSON.stringify(value);
  };
  put(genAi.systemInstructions, contentsOf(prompt, "system").flatMap(listParts));
  put(genAi.toolDefinitions, contentsOf(prompt, "tools").flat());
  put(
    genAi.inputMessages,
    contentsOf(prompt, "user", "assistant", "tool").map((message) => toMessageAttribute(message)),
  );
  const finish = manifest?.finish === undefined ? {} : { finish_reason: finishReason(manifest.finish) };
  const said = contentsOf(answer, "assistant");
  put(
    genAi.outputMessages,
    said.map((message) => toMessageAttribute(message, finish)),
  );
  put(genAi.toolArguments, contentsOf(prompt, "input")[0]);
  put(genAi.toolResult, contentsOf(answer, "result")[0]);
  return attributes;
}

const contentsOf = (parts: readonly ContentPart[], ...roles: readonly PartRole[]): readonly Json[] =>
  parts.flatMap(({ role, content }) => (roles.includes(role) && content !== null ? [content] : []));

/** Translates to the names of the conventions; unknown ones remain unchanged. */
const finishReason = (finish: string): string => {
  if (finish === "tool-calls") return "tool_call";
  return finish === "content-filter" ? "content_filter" : finish;
};

function toMessageAttribute(message: Json, more: { readonly [field: string]: Json } = {}): Json {
  const role = isJsonObject(message) ? (message["role"] ?? null) : null;
  return { role, parts: listParts(message), ...more };
}

function listParts(message: Json): readonly Json[] {
  const content = isJsonObject(message) ? message["content"] : undefined;
  return Array.isArray(content) ? content.map(toPartAttribute) : [];
}

/** Converts a block of a message. Bytes of files are replaced by their size. */
function toPartAttribute(block: Json): Json {
  if (!isJsonObject(block)) return { type: "unknown" };
  const { text, callId, name, input, content, mediaType, source } = block;
  const type = typeof block["type"] === "string" ? block["type"] : "";
  switch (type) {
    case "text":
    case "reasoning":
      return { type, content: text ?? "" };
    case "tool-call":
      return { type: "tool_call", id: callId ?? null, name: name ?? null, arguments: input ?? null };
    case "tool-result":
      return {
        type: "tool_call_response",
        id: callId ?? null,
        response: Array.isArray(content) ? content.map(toPartAttribute) : [],
      };
    case "file":
      return filePart(source, { mime_type: mediaType ?? null, name: name ?? null });
    case "data":
      return { type: "data", content: block["data"] ?? null };
    default:
      return { type: "unknown" };
  }
}

function filePart(source: Json | undefined, told: { readonly [field: string]: Json }): Json {
  if (!isJsonObject(source)) return { type: "file", ...told };
  const { url, base64, bytes } = source;
  if (typeof url === "string") return { type: "uri", uri: url, ...told };
  const size = typeof base64 === "string" ? Math.floor((base64.length * 3) / 4) : (bytes ?? null);
  return { type: "file", bytes: size, ...told };
}
