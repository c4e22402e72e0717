import assert from "node:assert/strict";
import type { ChatMessage } from "reeve";
import type { PromptWindowOptions, SessionEntry } from "reeve/store";
import { estimateTokens } from "#models";
import { abbreviate } from "./talk.ts";

/**
 * Asserts that providers accept it: each call has exactly one result, directly after it, and there is no other result.
 */
export function assertPaired(messages: readonly ChatMessage[]): void {
  let open: string[] = [];
  for (const { role, content } of [
    ...messages,
    { role: "user", content: [{ type: "data", data: 0 }] } as const,
  ]) {
    assert.notEqual(role, "system");
    assert.ok(content.length > 0, "an empty message");
    for (const block of content) {
      if (block.type !== "tool-result") continue;
      assert.equal(role, "tool");
      assert.ok(open.includes(block.callId), `result ${block.callId} without its call`);
      open = open.filter((callId) => callId !== block.callId);
    }
    if (role === "tool") continue;
    assert.deepEqual(open, [], "calls without results");
    open = content.flatMap((block) => (block.type === "tool-call" ? [block.callId] : []));
  }
}

/**
 * Asserts that the window respects its limits, is a suffix of the unlimited window, and leaves out nothing that would
 * fit.
 */
export function assertFills(
  window: readonly ChatMessage[],
  unlimited: readonly ChatMessage[],
  { maxMessages = Infinity, maxTokens = Infinity }: PromptWindowOptions,
): void {
  const fits = (messages: readonly ChatMessage[]): boolean =>
    messages.length <= maxMessages && estimateTokens(messages) <= maxTokens;
  assert.ok(fits(window), "a window over its limits");
  const summary = unlimited.slice(0, 1).filter(isSummary);
  const body = window.slice(window.some(isSummary) ? 1 : 0);
  const all = unlimited.slice(summary.length);
  const older = all.slice(0, all.length - body.length);
  assert.deepEqual(body, all.slice(older.length));
  const next = older.slice(older.findLastIndex(({ role }) => role !== "tool"));
  if (older.length > 0) assert.ok(!fits([...next, ...window]), "more would fit");
  else if (window.length < unlimited.length) assert.ok(!fits(unlimited), "the summary would fit");
}

/** Asserts that without limits it equals the path since the newest compaction, including which results are real. */
export function assertTells(unlimited: readonly ChatMessage[], path: readonly SessionEntry[]): void {
  const compaction = path.findLast((entry) => entry.type === "compaction");
  const start = path.findIndex(({ id }) => id === compaction?.keptFrom);
  const told = path
    .slice(Math.max(start, 0))
    .flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const expected = told.flatMap((message, index) => {
    if (message.role === "tool") return [];
    const calls = message.content.flatMap((block) => (block.type === "tool-call" ? [block.callId] : []));
    if (calls.length === 0) return [abbreviate(message)];
    const behind = told.slice(index + 1);
    const end = behind.findIndex(({ role }) => role !== "tool");
    const given = new Set(
      behind
        .slice(0, end < 0 ? undefined : end)
        .flatMap(({ content }) => content)
        .map((block) => (block.type === "tool-result" ? block.callId : null)),
    );
    return [abbreviate(message), calls.map((id) => (given.has(id) ? `!${id}` : `!${id} failed`)).toSorted()];
  });
  assert.deepEqual(groupMessages(unlimited.slice(compaction ? 1 : 0)), expected);
}

/** Messages in short, and the results of each cycle as one list. */
function groupMessages(messages: readonly ChatMessage[]): readonly (string | readonly string[])[] {
  const groups: (string | string[])[] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (message.role !== "tool") groups.push(abbreviate(message));
    else {
      const results = message.content.map((block) => abbreviate({ role: "tool", content: [block] }));
      if (Array.isArray(last)) last.push(...results);
      else groups.push(results);
    }
  }
  return groups.map((group) => (Array.isArray(group) ? group.toSorted() : group));
}

function isSummary(message: ChatMessage): boolean {
  return abbreviate(message).startsWith("Summary of the conversation");
}
