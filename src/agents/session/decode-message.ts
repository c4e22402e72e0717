import {
  type ChatMessage,
  ContentBlock,
  type FileBlock,
  isJsonObject,
  Json,
  type JsonObject,
  MalformedReason,
  type Role,
} from "#kernel";

const roles: ReadonlySet<unknown> = new Set([
  "system",
  "user",
  "assistant",
  "tool",
] satisfies readonly Role[]);
const isRole = (value: unknown): value is Role => roles.has(value);

/**
 * Decodes a message from outside. Null if it is invalid. A block that is not exactly one of ours is kept whole, as
 * unknown.
 */
export function decodeMessage(raw: Json | undefined): ChatMessage | null {
  if (!isJsonObject(raw)) return null;
  const { role, content } = raw;
  return isRole(role) && isJsonList(content) ? { role, content: content.map(decodeBlock) } : null;
}

/** Encodes a message. Unknown blocks are written back exactly as they came. */
export function encodeMessage({ role, content }: ChatMessage): Json {
  return Json.of({ role, content: content.map(encodeBlock) });
}

function encodeBlock(block: ContentBlock): Json {
  if (block.type === "tool-result") return Json.of({ ...block, content: block.content.map(encodeBlock) });
  return ContentBlock.encode(block);
}

function decodeBlock(raw: Json): ContentBlock {
  const block = isJsonObject(raw) ? decodeKnown(raw) : null;
  return block ?? { type: "unknown", raw };
}

function decodeKnown(raw: JsonObject): ContentBlock | null {
  const { type, text, callId, name, data } = raw;
  if (typeof type !== "string") return null;
  switch (type) {
    case "text":
    case "reasoning":
      return typeof text === "string" ? { type, text, ...providerData(raw) } : null;
    case "tool-call": {
      const { input, malformedInput, malformedBecause: why } = raw;
      if (typeof callId !== "string" || typeof name !== "string" || input === undefined) return null;
      if (malformedInput === undefined) return { type, callId, name, input, ...providerData(raw) };
      if (typeof malformedInput !== "string") return null;
      const because = MalformedReason.is(why) ? { malformedBecause: why } : {};
      return { type, callId, name, input, malformedInput, ...because, ...providerData(raw) };
    }
    case "tool-result": {
      const { content, isError } = raw;
      if (typeof callId !== "string" || typeof name !== "string") return null;
      if (!isJsonList(content) || typeof isError !== "boolean") return null;
      return { type, callId, name, content: content.map(decodeBlock), isError };
    }
    case "file":
      return decodeFile(raw);
    case "data":
      return data === undefined ? null : { type, data };
    case "unknown":
      return raw["raw"] === undefined ? null : { type, raw: raw["raw"] };
    default:
      return null;
  }
}

function decodeFile({ mediaType, source, name }: JsonObject): FileBlock | null {
  if (typeof mediaType !== "string" || !isJsonObject(source)) return null;
  if (name !== undefined && typeof name !== "string") return null;
  const named = name === undefined ? {} : { name };
  const { url, base64, content, bytes } = source;
  if (typeof url === "string") return { type: "file", mediaType, source: { url }, ...named };
  if (typeof base64 === "string") return { type: "file", mediaType, source: { base64 }, ...named };
  if (typeof content === "string" && typeof bytes === "number")
    return { type: "file", mediaType, source: { content, bytes }, ...named };
  return null;
}

function providerData({ providerData: data }: JsonObject): { readonly providerData?: Json } {
  return data === undefined ? {} : { providerData: data };
}

function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
