import type { AgentPolicy } from "#kernel";

/** Default tokens of a model's context that stay free, and that hold recent messages without a summary. */
const defaults = { reserve: 8_192, keepRecent: 16_384, share: 4 } as const;

/** The fraction of a model's context that earlier turns may fill if they cannot all be sent. */
const cutShare = 0.75;

/** The sizes that control a compaction. */
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

/** Whether a turn that ends with these tokens in the model's context is followed by a compaction. */
export function isCompactionDue(
  policy: AgentPolicy["compaction"],
  contextWindow: number | undefined,
  contextTokens: number,
): boolean {
  if (policy === false || contextWindow === undefined) return false;
  return contextTokens > contextWindow - compactionSizes(policy, contextWindow).reserve;
}

/** Limits of earlier turns in a prompt, in tokens. */
export interface HistoryLimits {
  /** Maximum tokens that are sent. Above it, turns are cut. */
  readonly maxTokens?: number;
  /** Tokens that remain after the cut. */
  readonly cutTo?: number;
}

/**
 * Returns the limits of earlier turns in a prompt: the fallback behind compaction. Without compaction nothing else
 * makes room, so room for the turn's own messages is reserved here.
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
