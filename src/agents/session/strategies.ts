import type { ChatMessage, CompactionStrategy } from "#kernel";
import { estimateTokens } from "#models";
import type { OldResults } from "./prompt-window.ts";
import { ToolGroups, type MessageGroup } from "./tool-groups.ts";
import { trimResults as trimGroup } from "./trim-results.ts";

/*
 * Views of a prompt. Each gets all messages of a call except the system message, and works on groups: an assistant's
 * calls with their results, or a single message. So none leaves a call without its result.
 */

/**
 * Shows at most the newest `count` messages. The beginning of the prompt moves at every turn, so the provider's cache
 * never applies.
 */
export function slidingWindow(count: number): CompactionStrategy {
  expectCount("slidingWindow", count);
  return keepNewestGroups(count, (group) => group.length);
}

/** Shows the newest messages with at most `tokens` tokens, as `estimateTokens` counts them. */
export function tokenLimit(tokens: number): CompactionStrategy {
  expectCount("tokenLimit", tokens);
  return keepNewestGroups(tokens, (group) => estimateTokens(group));
}

/** Shows only the first `characters` characters of tool results that are older than the newest `wholeCycles` cycles. */
export function trimResults({ wholeCycles, characters }: OldResults): CompactionStrategy {
  expectCount("wholeCycles", wholeCycles, 0);
  expectCount("characters", characters, 0);
  return {
    compact: (messages) => {
      let cycles = 0;
      const groups = groupsOf(messages).map((group) => {
        if (group.length === 1) return group;
        cycles += 1;
        return cycles > wholeCycles ? trimGroup(group, characters) : group;
      });
      return inOrder(groups);
    },
  };
}

/** Shows the newest `count` cycles of calls and results, and every other message. */
export function lastToolGroups(count: number): CompactionStrategy {
  expectCount("lastToolGroups", count, 0);
  return {
    compact: (messages) => {
      let cycles = 0;
      return inOrder(groupsOf(messages).filter((group) => group.length === 1 || ++cycles <= count));
    },
  };
}

/** Applies strategies one after the other. */
export function pipeline(...strategies: readonly CompactionStrategy[]): CompactionStrategy {
  return {
    compact: (messages) => strategies.reduce((shown, strategy) => strategy.compact(shown), messages),
  };
}

/**
 * Returns the view of a strategy in a form that a provider accepts: calls without results are answered with a note, and
 * results without calls are left out. Returns the same list if the strategy changes nothing. The newest message is
 * always shown.
 */
export function compactMessages(
  strategy: CompactionStrategy,
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  const shown = strategy.compact(messages);
  const isSame =
    shown.length === messages.length && shown.every((message, index) => message === messages[index]);
  if (isSame) return messages;
  const view = repairPrompt(shown);
  return view.length === 0 ? inOrder(groupsOf(messages).slice(0, 1)) : view;
}

/**
 * Returns messages in a form that a provider accepts: without system messages, every call with a result, every result
 * with its call.
 */
export const repairPrompt = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  inOrder(groupsOf(messages));

/** Returns a strategy that shows the newest groups that fit; at least one. */
function keepNewestGroups(limit: number, sizeOf: (group: MessageGroup) => number): CompactionStrategy {
  return {
    compact: (messages) => {
      let left = limit;
      const shown: MessageGroup[] = [];
      for (const group of groupsOf(messages)) {
        left -= sizeOf(group);
        if (left < 0 && shown.length > 0) break;
        shown.push(group);
      }
      return inOrder(shown);
    },
  };
}

/** Returns groups, newest first. */
function groupsOf(messages: readonly ChatMessage[]): readonly MessageGroup[] {
  const groups = new ToolGroups();
  return messages.toReversed().flatMap((message) => {
    const group = groups.add(message);
    return group ? [group] : [];
  });
}

const inOrder = (groups: readonly MessageGroup[]): readonly ChatMessage[] => groups.toReversed().flat();

function expectCount(name: string, count: number, least = 1): void {
  if (!Number.isSafeInteger(count) || count < least)
    throw new TypeError(`${name} must be an integer >= ${least}, got ${count}`);
}
