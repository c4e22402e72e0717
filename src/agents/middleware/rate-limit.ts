import {
  ChatMessage,
  LimitState,
  ModelError,
  Partition,
  Usage,
  type ChatContext,
  type ChatMiddleware,
  type LimitStore,
  type RateRequest,
  type Store,
} from "#kernel";
import { estimateTokens } from "#models";

/** Options of a rate limit. */
export interface RateLimitOptions {
  /** Name of the limit, for example the provider's account. All layers with the same key share it. */
  readonly key: string;
  /** The store that shares it with other processes. Default: each process has its own limit. */
  readonly store?: Pick<Store, "limits"> | undefined;
  readonly requestsPerMinute?: number | undefined;
  /** Input and output tokens. Estimated before the call, corrected after it. */
  readonly tokensPerMinute?: number | undefined;
  /** Whether each tenant, or each user of each tenant, has a separate limit, or all share one. Default: all. */
  readonly share?: "all" | "tenant" | "user" | undefined;
}

/** Delay after a rate limit error without a stated delay. */
const defaultSlowMs = 2_000;
const longestSlowMs = 60_000;

/**
 * Waits before each attempt until the limit allows it, without holding a slot. When a provider answers "too many
 * requests", all callers that share the limit wait until the stated time, at most a minute: one such answer slows all
 * workers. The attempt itself is retried as usual.
 */
export function rateLimit(options: RateLimitOptions): ChatMiddleware {
  const { share = "all" } = options;
  const limits = options.store?.limits ?? ownLimits;
  return {
    name: "rateLimit",
    attempts: "sees",
    async process(context, next) {
      const { scope } = context;
      const partition = { tenantId: share === "all" ? null : scope.tenantId };
      // JSON keeps the parts unambiguous for any characters.
      const key = share === "user" ? JSON.stringify([options.key, scope.userId]) : options.key;
      const rate = toRateRequest(options, context);
      for (;;) {
        const waitMs = await limits.take(partition, key, { rate, now: scope.clock.now() });
        if (waitMs === 0) break;
        await scope.wait(waitMs);
      }
      try {
        await next();
      } catch (error) {
        if (error instanceof ModelError && error.kind === "rate-limit")
          await limits.slow(partition, key, scope.clock.now() + slowMs(error));
        throw error;
      }
      const used = context.result?.usage;
      if (rate["tokens"] && used && Usage.isSane(used))
        await limits.correct(partition, key, { tokens: Usage.tokens(used) - rate["tokens"].amount });
    },
  };
}

function toRateRequest(
  { requestsPerMinute, tokensPerMinute }: RateLimitOptions,
  context: ChatContext,
): RateRequest {
  const tokens = (): number =>
    estimateTokens([ChatMessage.system(context.systemInstructions), ...context.messages], context.tools);
  return {
    ...(requestsPerMinute !== undefined && { requests: { amount: 1, perMinute: requestsPerMinute } }),
    ...(tokensPerMinute !== undefined && { tokens: { amount: tokens(), perMinute: tokensPerMinute } }),
  };
}

const slowMs = ({ retryAfterMs }: ModelError): number =>
  Math.min(retryAfterMs ?? defaultSlowMs, longestSlowMs);

class OwnLimits implements LimitStore {
  readonly #states = new Map<string, LimitState>();

  async take(
    partition: Partition,
    key: string,
    { rate, now }: { readonly rate: RateRequest; readonly now: number },
  ): Promise<number> {
    const { state, waitMs } = LimitState.take(this.#getState(partition, key), rate, now);
    this.#states.set(Partition.part(partition, key), state);
    return waitMs;
  }

  async correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void> {
    this.#states.set(
      Partition.part(partition, key),
      LimitState.correct(this.#getState(partition, key), used),
    );
  }

  async slow(partition: Partition, key: string, until: number): Promise<void> {
    this.#states.set(Partition.part(partition, key), LimitState.slow(this.#getState(partition, key), until));
  }

  #getState(partition: Partition, key: string): LimitState {
    return this.#states.get(Partition.part(partition, key)) ?? LimitState.none;
  }
}

/** The limits of this process. */
const ownLimits = new OwnLimits();
