import { Labels, ModelError, Usage, type EntryId, type LlmOptions, type Model } from "#kernel";
import type { ChatMessage } from "#kernel";
import { compactMessages } from "#agents";
import { estimateTokens } from "#models";
import { freezeList } from "./call-estimate.ts";
import { historyLimits, isCompactionDue } from "./context-limits.ts";
import type { StepExecution } from "./gated-step.ts";
import { interceptMessages } from "./interceptions.ts";
import type { RunServices } from "./run-services.ts";
import { untilReached } from "./until-reached.ts";

/** A call whose prompt must be assembled. */
interface PlannedPrompt {
  readonly model: Model;
  readonly messages: readonly ChatMessage[];
  readonly options: LlmOptions;
}

/** A prompt in the form it is sent. */
export interface AssembledPrompt {
  readonly messages: readonly ChatMessage[];
  /** The conversation's first entry in the prompt. Null: none. Absent: no stored conversation was read unchanged. */
  readonly from?: EntryId | null | undefined;
  /** The labels of the conversation that was read. */
  readonly labels: Labels;
  /** The number of messages of earlier turns, after the system message. */
  readonly past: number;
  /** Whether a view changed the messages. */
  readonly isView: boolean;
}

/**
 * Assembles a prompt, inside a step: the system message, the earlier turns, and the messages of this turn, as the
 * agent's view shows them. @throws ModelError for a prompt that is too long by its estimate.
 */
export async function assemblePrompt(
  services: RunServices,
  execution: StepExecution,
  call: PlannedPrompt,
): Promise<AssembledPrompt> {
  const { policy, state } = services;
  const { session, sizes } = state;
  const { compaction, history: provider } = policy.agent;
  const first = call.messages[0]?.role === "system" ? 1 : 0;
  const limits = historyLimits(compaction, call.model.contextWindow);
  const history = session.readsHistory
    ? await untilReached(execution.calls, () => session.history(limits))
    : null;
  sizes.offer(history?.told);
  const added = call.messages.slice(first);
  const said = history ? [...history.messages, ...added] : added;
  const left = await interceptMessages(services, execution, said);
  const shown = compaction && compaction.strategy ? compactMessages(compaction.strategy, left) : left;
  const isView = shown !== said;
  const messages = freezeList(
    history || isView ? [...call.messages.slice(0, first), ...shown] : call.messages,
  );
  // The conversation may begin with this turn.
  const from = history && !provider && !isView ? (history.from ?? session.firstOfTurn) : undefined;
  const past = isView ? 0 : (history?.messages.length ?? 0);
  const prompt = { messages, from, past, labels: history?.labels ?? Labels.none, isView };
  if (!isView) expectRoom(services, call, { ...prompt, historyTokens: history?.tokens ?? 0 });
  return prompt;
}

/**
 * Refuses a prompt that is certainly too long. The prompt after a compaction is sent anyway, because an estimate may be
 * wrong.
 */
function expectRoom(
  { policy, state }: RunServices,
  { model, messages: added, options: { tools = [] } }: PlannedPrompt,
  {
    messages,
    from,
    historyTokens,
  }: Pick<AssembledPrompt, "messages" | "from"> & { readonly historyTokens: number },
): void {
  const { contextWindow } = model;
  if (contextWindow === undefined || policy.agent.compaction === false || state.session.hasMadeRoom) return;
  const reported = state.sizes.getLast(model, { messages, tools, from });
  const tokens = reported
    ? estimateTokens(messages, tools, { reported })
    : historyTokens + estimateTokens(added, tools);
  if (tokens <= contextWindow) return;
  const message = `the prompt has about ${tokens} tokens, and the context of model ${model.id} has ${contextWindow}`;
  throw new ModelError({ kind: "context-overflow", message, unbilled: true });
}

/** Whether a compaction is due after a call. Decided inside its step, where the model's context is known. */
export function isDueAfter({ policy }: RunServices, usage: Usage | null): boolean {
  return (
    usage !== null &&
    isCompactionDue(policy.agent.compaction, policy.model?.contextWindow, Usage.tokens(usage))
  );
}
