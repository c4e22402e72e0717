import type { Session } from "#runtime";
import {
  ChatMessage,
  isJsonObject,
  type ContentBlock,
  type EntryId,
  type FileBlock,
  type JsonObject,
  type Page,
  type SessionEntry,
  type ToolResultBlock,
} from "#kernel";
import { parseTree } from "./chat-target.ts";

type MessageEntry = SessionEntry & { readonly type: "message" };

/** A part of a chat's history. */
export interface HistoryRequest {
  /** The newest entry to show; null: there is none. */
  readonly from: EntryId | null;
  /** The most UI messages. */
  readonly size: number;
}

/**
 * Returns a page of a conversation as UI messages, oldest first. Pages go backwards from the newest message: `next`
 * points to older messages. An answer is one message with its tool calls and is never split.
 */
export async function uiHistory(session: Session, { from, size }: HistoryRequest): Promise<Page<JsonObject>> {
  const groups: MessageEntry[][] = [];
  for await (const entry of session.path(from)) {
    if (entry.type !== "message" || entry.message.role === "system") continue;
    const group = groups.at(-1);
    const isSame =
      group?.[0] && isAnswer(group[0]) && isAnswer(entry) && parseTree(group[0].id) === parseTree(entry.id);
    if (group && isSame) group.push(entry);
    else if (groups.length === size) return { items: messagesOf(groups), next: entry.id };
    else groups.push([entry]);
  }
  return { items: messagesOf(groups), next: null };
}

const isAnswer = ({ message }: MessageEntry): boolean => message.role !== "user";

/** `groups` and their entries are newest first. */
function messagesOf(groups: readonly (readonly MessageEntry[])[]): readonly JsonObject[] {
  const seen = new Set<string>();
  const messages = groups.map((group): JsonObject => {
    const entries = group.toReversed();
    const [first] = entries;
    if (!first) return {};
    const treeId = parseTree(first.id);
    const metadata = treeId === null ? {} : { metadata: { treeId } };
    if (!isAnswer(first)) return { id: first.id, role: "user", ...metadata, parts: userParts(first.message) };
    // The newest answer of a tree has the id that its stream gave it.
    const id = treeId === null || seen.has(treeId) ? first.id : treeId;
    seen.add(id);
    return { id, role: "assistant", ...metadata, parts: answerParts(entries) };
  });
  return messages.toReversed();
}

function userParts({ content }: ChatMessage): readonly JsonObject[] {
  return content.flatMap((block): readonly JsonObject[] => {
    if (block.type === "text") return [{ type: "text", text: block.text }];
    if (block.type === "file") return [filePart(block)];
    if (block.type !== "data") return [];
    const named = isJsonObject(block.data) ? block.data : { input: block.data };
    return Object.entries(named).map(([name, data]) => ({ type: `data-${name}`, data }));
  });
}

/** Bytes that only their own tree has are named, and cannot be sent again. */
function filePart({ mediaType, name, source }: FileBlock): JsonObject {
  const url =
    "url" in source
      ? source.url
      : "base64" in source
        ? `data:${mediaType};base64,${source.base64}`
        : `reeve-content:${source.content}`;
  return { type: "file", mediaType, url, ...(name !== undefined && { filename: name }) };
}

function answerParts(entries: readonly MessageEntry[]): readonly JsonObject[] {
  const blocks = entries.flatMap(({ message }) => message.content);
  const results = new Map(
    blocks.flatMap((block) => (block.type === "tool-result" ? [[block.callId, block] as const] : [])),
  );
  const parts: JsonObject[] = [];
  for (const { id, message } of entries) {
    if (message.role !== "assistant") continue;
    parts.push({ type: "step-start" });
    for (const block of message.content) parts.push(...answerPart(id, block, results));
  }
  return parts;
}

function answerPart(
  entry: EntryId,
  block: ContentBlock,
  results: ReadonlyMap<string, ToolResultBlock>,
): readonly JsonObject[] {
  if (block.type === "text" || block.type === "reasoning")
    return block.text === "" ? [] : [{ type: block.type, text: block.text, state: "done" }];
  if (block.type !== "tool-call") return [];
  const { callId, name, input } = block;
  const run = entry.slice(0, entry.lastIndexOf("."));
  const call = { type: "dynamic-tool", toolName: name, toolCallId: `${run}:${callId}`, input };
  const result = results.get(callId);
  if (!result) return [{ ...call, state: "input-available" }];
  const said = ChatMessage.text({ role: "tool", content: result.content });
  if (result.isError) return [{ ...call, state: "output-error", errorText: said }];
  return [{ ...call, state: "output-available", output: said }];
}
