import type { ChatMessage, ChatMiddleware, ContentBlock } from "#kernel";
import { estimateTokens } from "#models";
import { ToolGroups, type MessageGroup } from "../session/tool-groups.ts";

/** Options of a history limit. */
export interface TruncateHistoryOptions {
  /** Maximum number of messages. Default: no limit. */
  readonly maxMessages?: number | undefined;
  /** Maximum estimated tokens of all messages together. Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** Whether the first message of the user, usually the task, is always shown. Default: true. */
  readonly keepFirst?: boolean | undefined;
}

/**
 * Shows a model only the newest messages of a long conversation. A tool call and its results are shown together or not
 * at all, and the newest message always is. The session keeps all messages. Compaction summarizes instead of leaving
 * out.
 */
export function truncateHistory(options: TruncateHistoryOptions): ChatMiddleware {
  const { maxMessages = Infinity, maxTokens = Infinity, keepFirst = true } = options;
  checkLimit("maxMessages", maxMessages);
  checkLimit("maxTokens", maxTokens);
  return {
    name: "truncateHistory",
    async process(context, next) {
      const { messages } = context;
      const shown = keepNewest(messages, { maxMessages, maxTokens, keepFirst });
      if (shown.length === messages.length) return next();
      context.messages = shown;
      context.scope.note("truncateHistory", `left out ${messages.length - shown.length} messages`);
      try {
        await next();
      } finally {
        context.messages = messages;
      }
    },
  };
}

/** Checks a limit. @throws RangeError */
function checkLimit(name: string, value: number): void {
  if (value !== Infinity && !(Number.isSafeInteger(value) && value >= 1))
    throw new RangeError(`${name} must be an integer >= 1, got ${value}`);
}

function keepNewest(
  messages: readonly ChatMessage[],
  {
    maxMessages,
    maxTokens,
    keepFirst,
  }: Required<Record<"maxMessages" | "maxTokens", number>> & {
    readonly keepFirst: boolean;
  },
): readonly ChatMessage[] {
  if (messages.length <= maxMessages && (maxTokens === Infinity || estimateTokens(messages) <= maxTokens))
    return messages;
  const first = keepFirst ? messages.find(({ role }) => role === "user") : undefined;
  let [count, tokens] = first ? [1, estimateTokens([first])] : [0, 0];
  const groups = new ToolGroups();
  const kept: MessageGroup[] = [];
  for (const message of messages.toReversed()) {
    if (message === first) break;
    const group = groups.add(message);
    if (!group) continue;
    count += group.length;
    tokens += maxTokens === Infinity ? 0 : estimateTokens(group);
    if (kept.length > 0 && (count > maxMessages || tokens > maxTokens)) break;
    kept.push(group);
  }
  return [...(first ? [first] : []), ...kept.toReversed().flat()];
}

/** Options of a text limit. */
export interface TruncateContentOptions {
  /** Maximum characters of one text: a message, or the result of a tool. */
  readonly maxCharacters: number;
}

/**
 * Cuts long texts in a model's prompt: the beginning and the end stay, and a mark between them states how much is left
 * out. Texts in messages and in tool results are cut; data, arguments and files are not.
 */
export function truncateContent({ maxCharacters }: TruncateContentOptions): ChatMiddleware {
  if (!(Number.isSafeInteger(maxCharacters) && maxCharacters >= 100))
    throw new RangeError(`maxCharacters must be an integer >= 100, got ${maxCharacters}`);
  return {
    name: "truncateContent",
    async process(context, next) {
      const { messages } = context;
      const cut = messages.map((message) => cutMessage(message, maxCharacters));
      const changed = cut.filter((message, index) => message !== messages[index]).length;
      if (changed === 0) return next();
      context.messages = cut;
      context.scope.note("truncateContent", `cut texts in ${changed} messages`);
      try {
        await next();
      } finally {
        context.messages = messages;
      }
    },
  };
}

function cutMessage(message: ChatMessage, max: number): ChatMessage {
  const content = message.content.map((block) => cutBlock(block, max));
  return content.every((block, index) => block === message.content[index])
    ? message
    : { ...message, content };
}

function cutBlock(block: ContentBlock, max: number): ContentBlock {
  if (block.type === "text")
    return block.text.length <= max ? block : { ...block, text: cutText(block.text, max) };
  if (block.type !== "tool-result") return block;
  const content = block.content.map((inner) => cutBlock(inner, max));
  return content.every((inner, index) => inner === block.content[index]) ? block : { ...block, content };
}

/**
 * Cuts a text. Two thirds of the rest are the beginning. Half a surrogate pair, which no provider accepts, is left out.
 */
function cutText(text: string, max: number): string {
  const mark = `\n[... ${text.length - max} of ${text.length} characters are left out ...]\n`;
  const start = Math.floor((max * 2) / 3);
  return `${text.slice(0, start).replace(/[\uD800-\uDBFF]$/, "")}${mark}${text.slice(text.length - (max - start)).replace(/^[\uDC00-\uDFFF]/, "")}`;
}
