/**
 * Sends events to webhooks.
 *
 * Neighbours: `WebhookQueue` puts deliveries into the store, this takes them out. Every process that executes runs has
 * a sender; leases in the store ensure that only one of them sends a delivery at a time.
 *
 * 1. A delivery is removed only after its receiver has answered with success: each event arrives at least once.
 * 2. Of a webhook and a tree, only the first pending delivery can be leased: events of a tree arrive in order.
 * 3. A failed attempt is retried with growing delays. After `maxAttempts` the delivery is dead, and its tree goes on.
 * 4. A receiver that does not answer occupies at most `perWebhook` permits, the receivers of a tenant at most `perTenant`, and
 *    none of them the projector.
 */
import { randomUUID } from "node:crypto";
import { backoffMs, errorMessage, type BackoffOptions } from "#base";
import { ReeveError, type ClaimedDelivery, type Clock, type Store } from "#kernel";
import type { CheckedFetch } from "#net";
import { isSendable, messageId, toWebhookMessage } from "./message.ts";
import { signWebhook } from "./signature.ts";
import { secretsAt, readTarget } from "./target.ts";

/** Settings of a sender. */
interface SenderOptions {
  /** Number of dead deliveries of one webhook that are kept. */
  readonly maxDead: number;
  /** Attempts until a delivery is dead. */
  readonly maxAttempts: number;
  readonly backoff: BackoffOptions;
  /** Longest duration of one request. */
  readonly timeoutMs: number;
  /** Milliseconds between two polls for due deliveries. */
  readonly pollIntervalMs: number;
}

/** The services that a sender needs. */
export interface SenderDeps {
  readonly store: Pick<Store, "webhooks" | "events">;
  readonly fetch: CheckedFetch;
  readonly clock: Clock;
  readonly options: SenderOptions;
}

/** Requests at the same time. */
const maxInFlight = 64;
/** Concurrent requests for one tenant, and to one webhook, over all processes. */
const perTenant = 8;
const perWebhook = 4;
/** The time for all that is not the request: reading the event, noting the result. On top of the same time as for the request. */
const leaseMarginMs = 1_000;

type Outcome = Parameters<Store["webhooks"]["settle"]>[1];

/** Takes due deliveries from the store and sends them. */
export class WebhookSender {
  readonly #deps: SenderDeps;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #running: Promise<void> | null = null;
  #again = false;
  #woken = Promise.withResolvers<void>();
  #disarm: (() => void) | null = null;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Polls for deliveries until it is closed. A second call does nothing. */
  start(): void {
    if (!this.#disarm) this.#arm();
  }

  /** Polls now, because a delivery was added. */
  wake(): void {
    this.start();
    void this.run();
  }

  /** Sends all due deliveries. Resolves when there are none left, or the sender is closed. */
  run(): Promise<void> {
    this.#again = true;
    this.#woken.resolve();
    this.#running ??= this.#drain().finally(() => {
      this.#running = null;
      // `wake` was called after the last poll and before this check.
      if (this.#again && !this.#closing.signal.aborted) void this.run();
    });
    return this.#running;
  }

  /** Stops sending. Requests in flight are abandoned: their deliveries are sent again. */
  async close(): Promise<void> {
    this.#disarm?.();
    this.#closing.abort(new Error("the sender is closed"));
    await this.#running;
  }

  #arm(): void {
    const { clock, options } = this.#deps;
    if (this.#closing.signal.aborted) return;
    const look = (): void => {
      this.#arm();
      void this.run();
    };
    this.#disarm = clock.callAt(clock.now() + options.pollIntervalMs, look, { bestEffort: true });
  }

  async #drain(): Promise<void> {
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      this.#woken = Promise.withResolvers<void>();
      // An unreachable store is polled again at the next interval.
      await this.#sendDue().catch(() => undefined);
    }
    await Promise.all(this.#inFlight);
  }

  async #sendDue(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const claimed = await this.#claim(maxInFlight - this.#inFlight.size);
      for (const delivery of claimed) this.#track(this.#deliver(delivery));
      if (claimed.length > 0) continue;
      if (this.#inFlight.size === 0) return;
      await Promise.race([...this.#inFlight, this.#woken.promise]);
      if (this.#again) return;
    }
  }

  async #claim(limit: number): Promise<readonly ClaimedDelivery[]> {
    if (limit === 0) return [];
    const { store, clock, options } = this.#deps;
    const now = clock.now();
    const until = now + 2 * options.timeoutMs + leaseMarginMs;
    return store.webhooks.claim({ lease: randomUUID(), now, until, limit, perWebhook, perTenant });
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch(() => undefined)
      .then(() => {
        this.#inFlight.delete(tracked);
      });
    this.#inFlight.add(tracked);
  }

  /** Makes one try. If its end cannot be noted, the lease ends and the delivery is sent again. */
  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = await this.#send(delivery);
    } catch (error) {
      outcome = this.#failure(delivery, failureText(error));
    }
    if (this.#closing.signal.aborted && outcome.kind !== "delivered")
      outcome = { kind: "retry", nextAt: this.#deps.clock.now(), error: "the sender was closed" };
    await this.#deps.store.webhooks.settle(delivery, outcome);
  }

  async #send(delivery: ClaimedDelivery): Promise<Outcome> {
    const { store, clock } = this.#deps;
    const { partition, treeId, seq } = delivery;
    const webhook = await store.webhooks.get(partition, delivery.webhookId);
    const [event] = await store.events.read(partition, treeId, { after: seq - 1, limit: 1 });
    // The webhook was removed or its events are erased: there is nothing to send.
    if (!webhook || event?.seq !== seq || !isSendable(event)) return { kind: "delivered" };
    const target = readTarget(webhook);
    const body = JSON.stringify(toWebhookMessage(event));
    const at = clock.now();
    const signed = signWebhook({ id: messageId(delivery), at, body, secrets: secretsAt(target, at) });
    const response = await this.#deps.fetch(target.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...signed },
      body,
      // The signature is for this URL: another place has no business with the message.
      redirect: "manual",
      signal: this.#closing.signal,
    });
    await response.body?.cancel();
    return response.ok ? { kind: "delivered" } : this.#failure(delivery, `status ${response.status}`);
  }

  #failure({ attempts }: ClaimedDelivery, error: string): Outcome {
    const { clock, options } = this.#deps;
    if (attempts + 1 >= options.maxAttempts) return { kind: "dead", error, keep: options.maxDead };
    return { kind: "retry", nextAt: Math.ceil(clock.now() + backoffMs(attempts, options.backoff)), error };
  }
}

/** Returns why a try failed, without the URL: it may hold a token. */
function failureText(error: unknown): string {
  if (ReeveError.is(error)) return errorMessage(error);
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return "the request failed";
}
