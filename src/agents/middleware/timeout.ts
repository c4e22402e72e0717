import {
  checkDuration,
  type ChatContext,
  type ChatMiddleware,
  type FunctionContext,
  type FunctionMiddleware,
} from "#kernel";

/**
 * Gives each attempt at a model at most so long: what takes longer is aborted, is a `timeout` error, and is retried
 * like any other. A tool call that takes longer is aborted and gives an error result; a run tool's time is its run's
 * and is not looked at. Of several limits the shortest holds.
 */
export function timeout({ seconds }: { readonly seconds: number }): ChatMiddleware & FunctionMiddleware {
  checkDuration("seconds", seconds, { min: 0.001 });
  return {
    name: "timeout",
    async process(context: ChatContext | FunctionContext, next) {
      const before = context.timeoutMs;
      context.timeoutMs = Math.min(before, seconds * 1000);
      try {
        await next();
      } finally {
        context.timeoutMs = before;
      }
    },
  };
}
