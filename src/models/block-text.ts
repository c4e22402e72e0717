import type { ContentBlock } from "#kernel";

/** What of a block is words to a provider: text, and data as JSON. Null: the block has none. */
export function blockText(block: ContentBlock): string | null {
  switch (block.type) {
    case "text":
      return block.text;
    case "data":
      return JSON.stringify(block.data);
    case "reasoning":
    case "tool-call":
    case "tool-result":
    case "file":
    case "unknown":
      return null;
  }
}

/** The words of several blocks, one after the other. */
export function joinedText(blocks: readonly ContentBlock[]): string {
  return blocks
    .map(blockText)
    .filter((text) => text !== null)
    .join("\n");
}
