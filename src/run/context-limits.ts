import type { AgentPolicy } from "#kernel";

/** The part of a model's context that stays free, and the part whose messages are not summed up, where nothing is said. */
const defaults = { reserve: 8_192, keepRecent: 16_384, share: 4 } as const;

/** The part of a model's context that earlier turns may fill where they cannot all be sent. */
const cutShare = 0.75;

/** The sizes that a compaction goes by. */
export interface CompactionSizes {
  readonly reserve: number;
  readonly keepRecent: number;
}

/** Returns the sizes of an agent's compactions. In a small context both defaults are a quarter of it. */
export function compactionSizes(
  policy: AgentPolicy["compaction"],
  contextWindow: number | undefined,
): CompactionSizes {
  const most = contextWindow === undefined ? Infinity : Math.floor(contextWindow / defaults.share);
  const { reserve, keepRecent } = policy || {};
  return {
    reserve: reserve ?? Math.min(defaults.reserve, most),
    keepRecent: keepRecent ?? Math.min(defaults.keepRecent, most),
  };
}

/** Whether a turn that ends with so many tokens in the model's context is followed by a compaction. */
export function isCompactionDue(
  policy: AgentPolicy["compaction"],
  contextWindow: number | undefined,
  contextTokens: number,
): boolean {
  if (policy === false || contextWindow === undefined) return false;
  return contextTokens > contextWindow - compactionSizes(policy, contextWindow).reserve;
}

/** The tokens of earlier turns in a prompt. */
export interface HistoryLimits {
  /** More than these are not sent at once. */
  readonly maxTokens?: number;
  /** Where not all can be sent, these are. */
  readonly cutTo?: number;
}

/**
 * Returns the limits of earlier turns in a prompt: the safety net behind compaction. Without compaction nothing else makes
 * room, so the turn's own messages get theirs here.
 */
export function historyLimits(
  policy: AgentPolicy["compaction"],
  contextWindow: number | undefined,
): HistoryLimits {
  if (contextWindow === undefined) return {};
  const cutTo = Math.floor(contextWindow * cutShare);
  const maxTokens = contextWindow - compactionSizes(policy, contextWindow).reserve;
  return { cutTo, maxTokens: policy === false ? cutTo : Math.max(cutTo, maxTokens) };
}
