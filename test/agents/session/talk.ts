import { ChatMessage, ContentBlock, SessionId } from "reeve";
import { type EntryDraft, EntryId, Session, type SessionStore } from "reeve/store";
import { type ToolCallBlock, type ToolResultBlock } from "#kernel";
import { memoryStore } from "reeve/stores/memory";

export const id = EntryId.of;

/** An open session, in memory unless a store is given. */
export async function talk(store: SessionStore = memoryStore().sessions, name = "talk"): Promise<Session> {
  const session = new Session(store, { tenantId: null }, { id: SessionId.of(name), userId: null });
  await session.open({ startedAt: 0 });
  return session;
}

export const entry = (name: string, message: ChatMessage): EntryDraft => ({
  id: id(name),
  at: 0,
  type: "message",
  message,
});
export const user = (name: string, text = name): EntryDraft => entry(name, ChatMessage.user(text));
export const reply = (name: string, text = name): EntryDraft => entry(name, ChatMessage.assistant(text));
export const label = (name: string, target: string, text: string | null): EntryDraft => ({
  id: id(name),
  at: 0,
  type: "label",
  target: id(target),
  label: text,
});
export const compaction = (name: string, summary: string, keptFrom: string): EntryDraft => ({
  id: id(name),
  at: 0,
  type: "compaction",
  summary,
  keptFrom: id(keptFrom),
  tokensBefore: 0,
});

/** An assistant that calls tools. */
export const assistantCalls = (name: string, ...callIds: readonly string[]): EntryDraft =>
  entry(name, { role: "assistant", content: callIds.map(call) });
/** The results of some calls, in one message. */
export const results = (name: string, callIds: readonly string[], text = "done"): EntryDraft =>
  entry(name, { role: "tool", content: callIds.map((callId) => result(callId, text)) });

export const call = (callId: string): ToolCallBlock => ({
  type: "tool-call",
  callId,
  name: "look",
  input: {},
});
export const result = (callId: string, text = "done"): ToolResultBlock => ({
  type: "tool-result",
  callId,
  name: "look",
  content: [ContentBlock.text(text)],
  isError: false,
});

export async function idsOf(entries: AsyncIterable<{ readonly id: EntryId }>): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id: each } of entries) ids.push(each);
  return ids;
}

/** A message in short: its text, its calls as `?id`, its results as `!id`. */
export const abbreviate = ({ content }: ChatMessage): string => content.map(abbreviateBlock).join(" ");

function abbreviateBlock(block: ContentBlock): string {
  if (block.type === "tool-call") return `?${block.callId}`;
  if (block.type === "tool-result") return `!${block.callId}${block.isError ? " failed" : ""}`;
  return block.type === "text" ? block.text : block.type;
}
