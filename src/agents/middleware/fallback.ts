import { ModelError, type ChatMiddleware, type ModelErrorKind, type StepScope } from "#kernel";
import { languageModel, type AnyModel } from "#models";

/** Options of a fallback. */
export interface FallbackOptions {
  /**
   * The errors that cause a fallback. Default: those that another provider or account may avoid. Not errors of the
   * request.
   */
  readonly on?: readonly ModelErrorKind[] | undefined;
}

const worthIt: readonly ModelErrorKind[] = [
  "rate-limit",
  "overloaded",
  "server-error",
  "timeout",
  "context-overflow",
  "unknown",
  "auth",
  "auth-permanent",
  "billing",
  "model-not-found",
];

/**
 * Calls the next model as soon as one fails, each time through the gate and charged. Only when the last has failed,
 * too, the retry's schedule applies, and it continues with that last one. So the calls are at most models plus retries,
 * never their product. A `retry()` registered after this layer retries before the next model instead.
 */
export function fallback(
  models: readonly AnyModel[],
  { on = worthIt }: FallbackOptions = {},
): ChatMiddleware {
  const others = models.map((model) => languageModel(model));
  const kinds = new Set(on);
  /** Number of models that were given up in a running step. */
  const givenUp = new WeakMap<StepScope, number>();
  return {
    name: "fallback",
    repeats: true,
    attempts: "sees",
    models: others,
    async process(context, next) {
      const asked = context.model;
      const candidates = [asked, ...others];
      try {
        for (let index = givenUp.get(context.scope) ?? 0; ; index++) {
          givenUp.set(context.scope, index);
          context.model = candidates[index] ?? asked;
          try {
            return await next();
          } catch (error) {
            const isWorthIt = error instanceof ModelError && kinds.has(error.kind);
            if (!isWorthIt || index === others.length) throw error;
          }
        }
      } finally {
        context.model = asked;
      }
    },
  };
}
