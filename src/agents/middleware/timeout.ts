import type { ChatContext, ChatMiddleware, FunctionContext, FunctionMiddleware } from "#kernel";

/**
 * Gives each attempt at a model at most so long: what takes longer is aborted, is a `timeout` error, and is retried
 * like any other. A tool call that takes longer is aborted and gives an error result; a run tool's time is its run's
 * and is not looked at. Of several limits the shortest holds.
 */
export function timeout({ seconds }: { readonly seconds: number }): ChatMiddleware & FunctionMiddleware {
  if (!(seconds > 0)) throw new TypeError(`a timeout of ${seconds} s`);
  return {
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
