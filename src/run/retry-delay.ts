import {
  BudgetExhaustedError,
  CancellationError,
  MiddlewareTermination,
  PreemptedError,
  type AttemptId,
} from "#kernel";
import { backoffMs, seededRandom } from "#base";

const maxRetryAfterMs = 60_000;

/**
 * Returns the delay before a retry: the provider's, up to a minute, or the schedule's with jitter if that is longer.
 */
export function toDelayMs(
  error: unknown,
  {
    retry,
    baseMs,
    attempt,
  }: { readonly retry: number; readonly baseMs: number; readonly attempt: AttemptId },
): number {
  const told = error instanceof Error && "retryAfterMs" in error ? error.retryAfterMs : null;
  const asked = typeof told === "number" && told > 0 ? told : 0;
  const jitter = { share: 0.2, random: seededRandom(attempt) };
  const scheduledMs = backoffMs(retry - 1, { firstMs: baseMs, jitter });
  return Math.round(Math.max(scheduledMs, Math.min(asked, maxRetryAfterMs)));
}

/** Whether an error is not a failure of the call, but the end of its run or of its turn. */
export const isFinal = (error: unknown): boolean => finals.some((type) => error instanceof type);
const finals = [MiddlewareTermination, CancellationError, BudgetExhaustedError, PreemptedError];
