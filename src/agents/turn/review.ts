import { BudgetExhaustedError, CancellationError, type RunContext } from "#kernel";

/** A look back at a conversation, by a copy of the agent. */
export interface ReviewOptions {
  /** The number of turns from one review to the next. */
  readonly every: number;
  /** The task of the copy. */
  readonly task: string;
  /** The tools that it may call, such as one that keeps notes. */
  readonly tools: readonly string[];
}

/** Checks options. @throws RangeError, TypeError */
export function checkReview({ every, task }: ReviewOptions): void {
  if (!Number.isSafeInteger(every) || every < 1)
    throw new RangeError(`review.every must be an integer >= 1, got ${every}`);
  if (task === "") throw new TypeError("review.task must be a text, got an empty one");
}

/**
 * Has a copy of the agent look back at the conversation, if it is time. The answer of the turn is out before, and a copy
 * that fails or gets no slot changes nothing. False: the run was cancelled on the way.
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
