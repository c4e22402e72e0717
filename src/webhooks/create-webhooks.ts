import { randomInt } from "node:crypto";
import type { BackoffOptions } from "#base";
import { checkDuration, type Clock, type Engine, type Store } from "#kernel";
import { createAddressPolicy, createCheckedFetch, type AddressPolicyOptions } from "#net";
import { WebhookQueue } from "./webhook-queue.ts";
import { WebhookSender } from "./webhook-sender.ts";
import { Webhooks } from "./webhooks.ts";

/** Settings of all webhooks of a runtime. */
export interface WebhookSettings {
  /** Allowed URLs. Default: public ones, over https. */
  readonly addresses?: AddressPolicyOptions | undefined;
  /** Attempts until a delivery is dead. Default: 10, over about 14 hours. */
  readonly maxAttempts?: number | undefined;
  /** Number of dead deliveries of one webhook that are kept: the newest. Default: 1,000. */
  readonly maxDead?: number | undefined;
  /** Delays between tries. Default: from 5 seconds to 4 hours, each 4 times the one before. */
  readonly backoff?: BackoffOptions | undefined;
  /** Longest duration of one request. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds between two polls for due deliveries. Default: 5,000. */
  readonly pollIntervalMs?: number | undefined;
}

/** The webhooks of a runtime, the queue that its projector fills, and the sender. */
export interface WebhookParts {
  readonly webhooks: Webhooks;
  /** Null: there is no store. */
  readonly queue: WebhookQueue | null;
  readonly sender: WebhookSender | null;
}

/** Creates the webhooks of a runtime. @throws RangeError on settings that are none. */
export function createWebhooks({
  store,
  engine,
  clock,
  webhooks: settings = {},
}: {
  readonly store?: Store | undefined;
  readonly engine: Pick<Engine, "durable">;
  readonly clock: Clock;
  readonly webhooks?: WebhookSettings | undefined;
}): WebhookParts {
  const { maxAttempts = 10, maxDead = 1_000, timeoutMs = 10_000, pollIntervalMs = 5_000 } = settings;
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
    throw new RangeError(`maxAttempts must be an integer >= 1, got ${maxAttempts}`);
  if (!Number.isSafeInteger(maxDead) || maxDead < 0)
    throw new RangeError(`maxDead must be an integer >= 0, got ${maxDead}`);
  checkDuration("timeoutMs", timeoutMs);
  checkDuration("pollIntervalMs", pollIntervalMs);
  const jitter = { share: 0.2, random: () => randomInt(1_000_000) / 1_000_000 };
  const backoff = settings.backoff ?? { firstMs: 5_000, factor: 4, maxMs: 14_400_000, jitter };
  const policy = createAddressPolicy(settings.addresses);
  const fetch = createCheckedFetch({ policy, clock, timeoutMs, idleTimeoutMs: timeoutMs, maxBytes: 100_000 });
  const options = { maxAttempts, maxDead, backoff, timeoutMs, pollIntervalMs };
  const sender = store ? new WebhookSender({ store, fetch, clock, options }) : null;
  // Such an engine need not be served, so deliveries left by an earlier process are sent here.
  if (store?.durable && !engine.durable) sender?.start();
  const wake = (): void => sender?.wake();
  const webhooks = new Webhooks({
    policy,
    now: () => clock.now(),
    wake,
    store: () => {
      if (!store) throw new TypeError("webhooks need a store: set createRuntime({ store })");
      return store;
    },
  });
  return { webhooks, sender, queue: store ? new WebhookQueue(store, wake) : null };
}
