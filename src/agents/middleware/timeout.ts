import {
  checkDuration,
  type ChatContext,
  type ChatMiddleware,
  type FunctionContext,
  type FunctionMiddleware,
} from "#kernel";

/**
 * Limits the duration of each attempt of a model call. A longer one is aborted with a `timeout` error, and retried like
 * any other. A tool call that takes longer is aborted and gives an error result. Run tools are not limited. Of several
 * limits the shortest applies.
 */
export function timeout({ seconds }: { readonly seconds: number }): ChatMiddleware & FunctionMiddleware {
  checkDuration("timeout.seconds", seconds, { min: 0.001 });
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
