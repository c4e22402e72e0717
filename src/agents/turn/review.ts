import { BudgetExhaustedError, CancellationError, type RunContext } from "#kernel";

/** Options of a review of the conversation by a copy of the agent. */
export interface ReviewOptions {
  /** Number of turns between two reviews. */
  readonly every: number;
  /** The task of the copy. */
  readonly task: string;
  /** The tools that it may call, such as one that writes notes. */
  readonly tools: readonly string[];
}

/** Checks options. @throws RangeError, TypeError */
export function checkReview({ every, task }: ReviewOptions): void {
  if (!Number.isSafeInteger(every) || every < 1)
    throw new RangeError(`review.every must be an integer >= 1, got ${every}`);
  if (task === "") throw new TypeError("review.task must not be empty");
}

/**
 * Spawns a copy of the agent that reviews the conversation, if a review is due. The turn's answer is sent before. A
 * copy that fails or gets no slot changes nothing. Returns false if the run was cancelled.
 */
export async function reviewAfterTurn(ctx: RunContext, review: ReviewOptions | undefined): Promise<boolean> {
  if (!review) return true;
  const { every, task, tools } = review;
  try {
    if (await ctx.session.takeReview(every))
      await ctx.join(await ctx.spawnChild(task, { history: true, tools }));
    return true;
  } catch (error) {
    if (error instanceof CancellationError) return false;
    if (error instanceof BudgetExhaustedError) return true;
    throw error;
  }
}
