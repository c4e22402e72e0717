import {
  checkDuration,
  ReeveError,
  type ChatContext,
  type ChatMiddleware,
  type FunctionContext,
  type FunctionMiddleware,
  type ModelRetry,
} from "#kernel";

/** Options of a retry. */
export interface RetryOptions extends ModelRetry {
  /** Returns whether a failure is worth a retry. Default: if the error is transient. */
  readonly when?: ((error: unknown) => boolean) | undefined;
}

/**
 * Retries a failed call, on the schedule of the built-in retry and instead of it. Around tools: only safe or idempotent
 * ones. A termination, a cancellation or an exhausted budget is never retried, regardless of `when`.
 *
 * All layers of a step share one count, so that two of them make no more retries than the larger allows.
 */
export function retry(options: RetryOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { maxRetries = 3, when = mayPass } = options;
  checkDuration("baseMs", options.baseMs ?? 0);
  return {
    name: "retry",
    repeats: true,
    attempts: "makes",
    async process(context: ChatContext | FunctionContext, next) {
      const { scope } = context;
      for (;;) {
        try {
          return await next();
        } catch (error) {
          if (scope.retries >= maxRetries || !mayRepeat(context) || !when(error)) throw error;
          await scope.waitForRetry(error, options);
        }
      }
    },
  };
}

/** Returns the layers in their final order, and the retry that happens inside all of them. */
export function placeRetry(
  layers: readonly ChatMiddleware[],
  policy: ModelRetry | undefined,
): { readonly layers: readonly ChatMiddleware[]; readonly retry: ModelRetry | undefined } {
  if (layers.some(({ attempts }) => attempts === "makes")) return { layers, retry: none };
  const index = layers.findIndex(({ attempts }) => attempts === "sees");
  if (index === -1) return { layers, retry: policy };
  return { layers: layers.toSpliced(index, 0, retry(policy)), retry: none };
}

const none: ModelRetry = { maxRetries: 0 };

const mayPass = (error: unknown): boolean => ReeveError.is(error) && error.retryable;

function mayRepeat(context: ChatContext | FunctionContext): boolean {
  if (!("tool" in context)) return true;
  const { tool } = context;
  return tool.risk === "safe" || ("idempotent" in tool && (tool.idempotent ?? false));
}
