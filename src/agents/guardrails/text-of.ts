import type { ContentBlock, Json } from "#kernel";

/** Everything readable in a result. */
export const textOf = (content: readonly ContentBlock[]): string => content.map(blockText).join("\n");

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
    case "reasoning":
      return block.text;
    case "tool-result":
      return textOf(block.content);
    case "data":
      return words(block.data);
    case "tool-call":
      return words(block.input);
    case "file":
      return block.name ?? "";
    case "unknown":
      return words(block.raw);
  }
}

/** A value as text: what a pattern or a judge is shown. */
export const words = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));
