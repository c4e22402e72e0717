import { findExcess } from "#base";
import { ContentBlock, isJsonObject, Json, ToolResult, type JsonObject, type ShownValue } from "#kernel";

const limits = { maxDepth: 64, maxKeys: 10_000 };

/** Converts the result of a call into the form shown to the model. Structured content is kept for code. */
export function toShownMcpResult(result: unknown): ShownValue {
  const excess = findExcess(result, limits);
  if (excess)
    return ToolResult.show([ContentBlock.text(`the result is too large: ${excess} is ${limits[excess]}`)], {
      isError: true,
    });
  const given = Json.of(result);
  const fields: JsonObject = isJsonObject(given) ? given : {};
  const { content, structuredContent, isError } = fields;
  const blocks = Array.isArray(content) ? content.map(toMcpBlock) : [];
  const shown =
    blocks.length === 0 && structuredContent !== undefined
      ? [ContentBlock.text(JSON.stringify(structuredContent))]
      : blocks;
  return ToolResult.show(shown, {
    value: structuredContent ?? joinTextBlocks(blocks),
    isError: isError === true,
  });
}

const joinTextBlocks = (blocks: readonly ContentBlock[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

/** Converts one block of MCP content. */
export function toMcpBlock(given: Json): ContentBlock {
  const block: JsonObject = isJsonObject(given) ? given : {};
  const { type, text, data, mimeType, resource, uri } = block;
  if (type === "text" && typeof text === "string") return ContentBlock.text(text);
  if ((type === "image" || type === "audio") && typeof data === "string") return toFile(data, mimeType);
  if (type === "resource" && isJsonObject(resource)) return toResource(resource);
  if (type === "resource_link" && typeof uri === "string") return ContentBlock.text(`[resource ${uri}]`);
  return ContentBlock.text(`[a block of type ${JSON.stringify(type ?? null)} that is not shown]`);
}

/** Converts the content of a resource. */
export function toResource({ uri, text, blob, mimeType }: JsonObject): ContentBlock {
  const name = typeof uri === "string" ? uri : "";
  if (typeof text === "string") return ContentBlock.text(`[resource ${name}]\n${text}`);
  return typeof blob === "string" ? toFile(blob, mimeType) : ContentBlock.text(`[resource ${name}]`);
}

const toFile = (base64: string, mediaType: Json | undefined): ContentBlock => ({
  type: "file",
  mediaType: typeof mediaType === "string" ? mediaType : "application/octet-stream",
  source: { base64 },
});
