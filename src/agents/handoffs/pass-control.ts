// Control of a conversation passes from agent to agent, within one turn.
//
// Job: give a turn to an agent as a separate run, and follow its handoffs until one of them answers. Neighbours:
// take-turn.ts (agents with handoffs) and the swarm begin it; pass.ts is the encoding of a conversation in transit.
//
// Invariants:
// 1. The runs are siblings: all are children of the run that has the turn. A run that hands off ends and frees its
//    slot.
// 2. The decision about the next run is in the journal: it is the output of the run before it.
// 3. A run that takes over has the options of any spawned run: it inherits no permission and no budget from the one
//    before it.
import {
  AgentId,
  BudgetExhaustedError,
  decodeError,
  StrategyError,
  type ErrorData,
  type AgentSpec,
  type Json,
  type RunContext,
  type RunResult,
} from "#kernel";
import { Pass } from "./pass.ts";

/** Timeout of a run that took over. Its budget and the deadline of its tree are the limits that count. */
const timeoutS = 86_400;

/** Default maximum of handoffs in one turn. */
export const defaultMaxHandoffs = 10;

/** Checks the limit of handoffs. @throws RangeError */
export function checkMaxHandoffs(given: number | undefined): void {
  if (given !== undefined && (!Number.isSafeInteger(given) || given < 1))
    throw new RangeError(`maxHandoffs must be an integer >= 1, got ${given}`);
}

/** The limits of one turn. */
export interface ControlLimits {
  /** The names of the agents that had the turn so far, in order. It grows. */
  readonly path: string[];
  readonly maxHandoffs: number;
}

/** The end of a chain of handoffs: the result of the agent that did not hand off, or too many handoffs. */
export type Control =
  | { readonly kind: "answered"; readonly by: string; readonly output: Json; readonly result: RunResult }
  | { readonly kind: "exhausted"; readonly best: string; readonly reason: string };

/**
 * Gives a conversation to an agent, and follows its handoffs.
 * @throws StrategyError if an agent gives no answer, CancellationError, and BudgetExhaustedError if an account above the
 * agent is used up.
 */
export async function passControl(
  ctx: RunContext,
  first: Pass,
  { path, maxHandoffs }: ControlLimits,
): Promise<Control> {
  let pass = first;
  for (;;) {
    if (path.length > maxHandoffs || isCircle(path)) {
      const reason = `the conversation was handed over too often: ${[...path, pass.to].join(", ")}`;
      return { kind: "exhausted", best: pass.best, reason };
    }
    path.push(pass.to);
    const result = await takeOver(ctx, pass);
    const next = Pass.fromOutput(result.output);
    if (!next) return { kind: "answered", by: pass.to, output: result.output, result };
    pass = next;
  }
}

/** Runs an agent until it has ended. */
async function takeOver(ctx: RunContext, pass: Pass): Promise<RunResult> {
  const agent: AgentSpec = { id: AgentId.of(pass.to) };
  const { kind, handle } = await ctx.ask(agent, Pass.toInput(pass), { timeoutS, onFull: "wait" });
  if (kind === "timedOut") {
    await ctx.cancel(handle, "it did not answer in time");
    throw noAnswer(pass, "it did not answer in time");
  }
  const result = await ctx.join(handle);
  const hasAnswered = result.status === "completed" || result.status === "landed";
  if (hasAnswered && result.output !== null) return result;
  if (result.error) throwIfAbove(result.error);
  const isCancelled = result.status === "cancelled";
  throw noAnswer(
    pass,
    result.error?.message ?? (isCancelled ? "it was cancelled" : "it ended without an answer"),
  );
}

const noAnswer = ({ to }: Pass, reason: string): StrategyError =>
  new StrategyError({ problem: `${to} did not answer: ${reason}` });

/**
 * Throws the error of a run if it is about an account above the run. A run's own limits do not concern its parent. But
 * if an account above it is used up, its parent cannot continue either.
 */
export function throwIfAbove(data: ErrorData): void {
  if (data.code !== "budget-exhausted") return;
  const error = decodeError(data);
  if (error instanceof BudgetExhaustedError && error.account !== undefined && error.account !== "run")
    throw error;
}

/** Whether the path ends with the same cycle three times, of two or more agents. */
function isCircle(path: readonly string[]): boolean {
  for (let size = 2; size * 3 <= path.length; size += 1) {
    const last = path.slice(-size).join();
    const isSame = (rounds: number): boolean =>
      path.slice(-size * (rounds + 1), -size * rounds).join() === last;
    if (isSame(1) && isSame(2)) return true;
  }
  return false;
}
