import type { ContentBlock } from "#kernel";
import { valueText } from "#base";

/** Returns all text in a result. */
export const toGuardedText = (content: readonly ContentBlock[]): string => content.map(blockText).join("\n");

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
    case "reasoning":
      return block.text;
    case "tool-result":
      return toGuardedText(block.content);
    case "data":
      return valueText(block.data);
    case "tool-call":
      return valueText(block.input);
    case "file":
      return block.name ?? "";
    case "unknown":
      return valueText(block.raw);
  }
}
