import { Json, Labels, type ChatMessage, type StepRetry } from "#kernel";
import { historyLimits } from "./context-limits.ts";
import type { RunServices } from "./run-services.ts";
import { userStep } from "./step.ts";

/**
 * Retries of the step: the store may be unavailable for a while, and the run cannot continue without the conversation.
 */
const patient: StepRetry = { maxRetries: 6, baseMs: 500 };

interface ReadRecord {
  readonly messages: readonly ChatMessage[];
  /** The labels of the conversation, if any. */
  readonly brings?: Labels | undefined;
}

/** Reads the messages before this turn in a step, and records the result of `select`. */
export async function readConversation(
  services: RunServices,
  select: (before: readonly ChatMessage[]) => readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  const { policy, state } = services;
  const { session, labels } = state;
  const limits = historyLimits(policy.agent.compaction, policy.model?.contextWindow);
  const run = async (): Promise<ReadRecord> => {
    const history = session.readsHistory ? await session.history(limits) : null;
    const brings = history && !Labels.isNone(history.labels) ? { brings: history.labels } : {};
    return { messages: select(history?.messages ?? []), ...brings };
  };
  const record = Json.as<ReadRecord>(await userStep(services, { name: "conversation", run, retry: patient }));
  labels.join(record.brings, "input", "conversation");
  return record.messages;
}
