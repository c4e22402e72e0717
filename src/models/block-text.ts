import type { ContentBlock } from "#kernel";

/** Returns the text of a block as sent to a provider: text, or data as JSON. Null if the block has none. */
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

/** Returns the joined text of several blocks. */
export function joinedText(blocks: readonly ContentBlock[]): string {
  return blocks
    .map(blockText)
    .filter((text) => text !== null)
    .join("\n");
}
