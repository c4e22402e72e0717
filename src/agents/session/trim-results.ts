import { ContentBlock, type ToolResultBlock } from "#kernel";
import type { MessageGroup } from "./tool-groups.ts";

/** Returns a group whose tool results hold at most `characters` of text each, and a note about the omission. */
export function trimResults(group: MessageGroup, characters: number): MessageGroup {
  return group.map((message) =>
    message.role === "tool"
      ? {
          ...message,
          content: message.content.map((block) =>
            block.type === "tool-result" ? trimResult(block, characters) : block,
          ),
        }
      : message,
  );
}

function trimResult(block: ToolResultBlock, characters: number): ToolResultBlock {
  const text = block.content.map(toBlockText).join("");
  const attachments = block.content.filter(({ type }) => type !== "text" && type !== "data").length;
  const start = text.slice(0, characters);
  // Half a surrogate pair is not text.
  const kept = start.isWellFormed() ? start : start.slice(0, -1);
  const shown = [
    ...(kept ? [kept] : []),
    ...(kept.length < text.length ? [`[${text.length - kept.length} more characters left out]`] : []),
    ...(attachments > 0 ? [`[attachments left out: ${attachments}]`] : []),
  ].join("\n");
  const isShorter = attachments > 0 || shown.length < text.length;
  return isShorter ? { ...block, content: [ContentBlock.text(shown)] } : block;
}

function toBlockText(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  return block.type === "data" ? JSON.stringify(block.data) : "";
}
