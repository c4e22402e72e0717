import {
  BudgetExhaustedError,
  decodeError,
  Json,
  type AskOutcome,
  type DelegateOptions,
  type Delivery,
  type ErrorData,
  type Hireable,
  type RunContext,
} from "#kernel";

const defaultTimeoutS = 600;

/**
 * Spawns a worker and waits for its answer. Failures of the worker are outcomes.
 * @throws what ends the leader: CancellationError, and BudgetExhaustedError if an account above the worker is used up.
 */
export async function delegate<Answer>(
  ctx: RunContext,
  worker: Hireable<Answer>,
  task: string,
  { timeoutS = defaultTimeoutS, onFull = "wait", onSpawn, ...terms }: DelegateOptions = {},
): Promise<Delivery<Answer>> {
  let outcome: AskOutcome<Answer>;
  try {
    const handle = await ctx.spawn(worker, task, { ...terms, onFull });
    onSpawn?.({ runId: handle.runId, agentId: handle.agentId, boot: handle.boot });
    outcome = await ctx.ask(handle, task, { timeoutS });
  } catch (error) {
    if (!(error instanceof BudgetExhaustedError) || error.dimension !== "agents") throw error;
    return { ok: false, worker, reason: error.message, error: error.toJSON() };
  }
  if (outcome.kind === "replied") return { ok: true, worker, text: outcome.text, value: outcome.data };
  // An agent of one's own may answer by what it returns.
  if (outcome.kind === "endedWithoutReply" && outcome.result.output !== null)
    return { ok: true, worker, text: toText(outcome.result.output), value: outcome.result.output };
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

/** The limits of a worker are its own affair. With an account above it used up, its leader has nothing to go on with either. */
function throwIfAbove(data: ErrorData): void {
  if (data.code !== "budget-exhausted") return;
  const error = decodeError(data);
  if (error instanceof BudgetExhaustedError && error.account !== undefined && error.account !== "run")
    throw error;
}

/** A value as text: a text as it is, anything else as JSON. */
export const toText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(Json.of(value ?? null));
