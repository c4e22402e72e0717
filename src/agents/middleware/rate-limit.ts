import {
  ChatMessage,
  LimitState,
  ModelError,
  Partition,
  Usage,
  type ChatContext,
  type ChatMiddleware,
  type LimitStore,
  type LimitWish,
  type Store,
} from "#kernel";
import { estimateTokens } from "#models";

/** How fast a provider may be asked. */
export interface RateLimitOptions {
  /** Whose limit it is, for example the provider's account. All layers with the same key share it. */
  readonly key: string;
  /** Where it is shared with other processes. Default: each process has its own. */
  readonly store?: Pick<Store, "limits"> | undefined;
  readonly requestsPerMinute?: number | undefined;
  /** Input and output. Estimated before the call, corrected after it. */
  readonly tokensPerMinute?: number | undefined;
  /** Whether each tenant, or each user of each tenant, has a limit of its own, or all share one. Default all. */
  readonly share?: "all" | "tenant" | "user" | undefined;
}

/** Where a provider that says "too many" does not say how long. */
const defaultSlowMs = 2_000;
const longestSlowMs = 60_000;

/**
 * Waits before each attempt until the limit allows it; nothing is held meanwhile. When a provider answers "too many
 * requests", nobody who shares the limit asks again before the moment it named, at most a minute: one such answer slows
 * the whole fleet. The attempt itself is retried as always.
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
      // JSON keeps the parts apart, whatever characters they have.
      const key = share === "user" ? JSON.stringify([options.key, scope.userId]) : options.key;
      const wish = wishOf(options, context);
      for (;;) {
        const waitMs = await limits.take(partition, key, { wish, now: scope.clock.now() });
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
      if (wish["tokens"] && used && Usage.isSane(used))
        await limits.correct(partition, key, { tokens: Usage.tokens(used) - wish["tokens"].amount });
    },
  };
}

function wishOf({ requestsPerMinute, tokensPerMinute }: RateLimitOptions, context: ChatContext): LimitWish {
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
    { wish, now }: { readonly wish: LimitWish; readonly now: number },
  ): Promise<number> {
    const { state, waitMs } = LimitState.take(this.#of(partition, key), wish, now);
    this.#states.set(Partition.part(partition, key), state);
    return waitMs;
  }

  async correct(partition: Partition, key: string, used: Readonly<Record<string, number>>): Promise<void> {
    this.#states.set(Partition.part(partition, key), LimitState.correct(this.#of(partition, key), used));
  }

  async slow(partition: Partition, key: string, until: number): Promise<void> {
    this.#states.set(Partition.part(partition, key), LimitState.slow(this.#of(partition, key), until));
  }

  #of(partition: Partition, key: string): LimitState {
    return this.#states.get(Partition.part(partition, key)) ?? LimitState.none;
  }
}

/** Of this process. */
const ownLimits = new OwnLimits();
