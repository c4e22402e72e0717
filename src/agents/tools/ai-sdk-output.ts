import { ContentBlock, isJsonObject, Json, ToolResult, type JsonObject, type ShownValue } from "#kernel";
import { valueText } from "#base";

/** Converts the result of `toModelOutput` of an AI SDK tool to the model's content. The value is kept for code. */
export function toShown(output: unknown, value: Json): ShownValue {
  const given = Json.of(withBytesAsText(output));
  const fields: JsonObject = isJsonObject(given) ? given : {};
  const shown = fields["value"] ?? null;
  const show = (text: string, isError = false): ShownValue =>
    ToolResult.show([ContentBlock.text(text)], { value, isError });
  const type = fields["type"] ?? null;
  if (type === "text" || type === "error-text") return show(valueText(shown), type === "error-text");
  if (type === "error-json") return show(JSON.stringify(shown), true);
  if (type === "execution-denied") return show(valueText(fields["reason"] ?? "the call was denied"), true);
  if (type === "content")
    return ToolResult.show(Array.isArray(shown) ? shown.map(toContentBlock) : [], { value });
  return show(JSON.stringify(type === "json" ? shown : given));
}

/** Converts one part. A part that only its provider can read is replaced by its name. */
function toContentBlock(part: Json): ContentBlock {
  const fields: JsonObject = isJsonObject(part) ? part : {};
  const { type, text, data, url, mediaType, filename } = fields;
  if (type === "text" && typeof text === "string") return ContentBlock.text(text);
  const source = toSource(data ?? null) ?? (typeof url === "string" ? { url } : null);
  if (!source) return ContentBlock.text(`[a part of type ${JSON.stringify(type ?? null)} that is not shown]`);
  if ("text" in source) return ContentBlock.text(source.text);
  const isImage = type === "image-url" || type === "image-data";
  return {
    type: "file",
    mediaType: typeof mediaType === "string" ? mediaType : isImage ? "image/*" : "application/octet-stream",
    source,
    ...(typeof filename === "string" && { name: filename }),
  };
}

type Source = { readonly base64: string } | { readonly url: string } | { readonly text: string };

/** Reads the data of a file: base64, or a typed object. */
function toSource(data: Json): Source | null {
  if (typeof data === "string") return { base64: data };
  if (!isJsonObject(data)) return null;
  const { type, data: bytes, url, text } = data;
  if (type === "data" && typeof bytes === "string") return { base64: bytes };
  if (type === "url" && typeof url === "string") return { url };
  return type === "text" && typeof text === "string" ? { text } : null;
}

/** Copies a value with its bytes as base64, which JSON can hold. */
function withBytesAsText(value: unknown): unknown {
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("base64");
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map(withBytesAsText);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withBytesAsText(field)]));
}
