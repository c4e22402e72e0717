import {
  BudgetExhaustedError,
  type AskOutcome,
  type DelegateOptions,
  type Delivery,
  type ErrorData,
  type AgentSpec,
  type RunContext,
} from "#kernel";
import { valueText } from "#base";
import { throwIfAbove } from "../handoffs/pass-control.ts";

const defaultTimeoutS = 600;

/**
 * Spawns a worker and waits for its answer. Failures of the worker are outcomes. @throws errors that end the leader:
 * CancellationError, and BudgetExhaustedError if an account above the worker is used up.
 */
export async function delegate<Answer>(
  ctx: RunContext,
  worker: AgentSpec<Answer>,
  task: string,
  { timeoutS = defaultTimeoutS, onFull = "wait", onSpawn, ...terms }: DelegateOptions = {},
): Promise<Delivery<Answer>> {
  let outcome: AskOutcome<Answer>;
  try {
    const handle = await ctx.spawn(worker, task, { ...terms, onFull });
    onSpawn?.({ runId: handle.runId, agentId: handle.agentId, firstMessage: handle.firstMessage });
    outcome = await ctx.ask(handle, task, { timeoutS });
  } catch (error) {
    if (!(error instanceof BudgetExhaustedError) || error.dimension !== "agents") throw error;
    return { ok: false, worker, reason: error.message, error: error.toJSON() };
  }
  if (outcome.kind === "replied") return { ok: true, worker, text: outcome.text, value: outcome.data };
  // A custom agent may answer by its returned value.
  if (outcome.kind === "endedWithoutReply" && outcome.result.output !== null)
    return { ok: true, worker, text: valueText(outcome.result.output), value: outcome.result.output };
  const error = errorOf(outcome);
  if (error) throwIfAbove(error);
  return { ok: false, worker, reason: error?.message ?? reasons[outcome.kind], ...(error && { error }) };
}

const reasons: Readonly<Record<Exclude<AskOutcome["kind"], "replied">, string>> = {
  timedOut: "it did not answer in time",
  failed: "it failed",
  cancelled: "it was cancelled",
  endedWithoutReply: "it ended without an answer",
  paused: "it is paused",
};

function errorOf(outcome: AskOutcome<unknown>): ErrorData | null {
  if (outcome.kind === "failed") return outcome.error;
  return "result" in outcome ? (outcome.result.error ?? null) : null;
}
