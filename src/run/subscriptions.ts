import {
  Json,
  type CancellationToken,
  type Envelope,
  type RunId,
  type Subscription,
  type TopicId,
} from "#kernel";
import type { CarriedSubscription, InboxItem } from "#tree";
import type { Driver } from "./driver/driver.ts";
import { ignoreRejection } from "./driver/ignore-rejection.ts";

interface SubscriptionDeps {
  readonly driver: Driver;
  readonly runId: RunId;
  readonly token: CancellationToken;
  readonly uuid: () => string;
}

/** Returns the key under which the messages of a subscription arrive. */
const toWaitKey = (subscription: string): string => `topic/${subscription}`;

/**
 * The subscriptions of a run to topics. A fresh execution can resume those that were open when the previous one ended.
 */
export class Subscriptions {
  readonly #deps: SubscriptionDeps;
  /** Subscriptions of the previous execution that this one has not resumed. */
  #carried: readonly CarriedSubscription[];
  readonly #open = new Set<CarriedSubscription>();

  constructor(deps: SubscriptionDeps, carried: readonly CarriedSubscription[] = []) {
    this.#deps = deps;
    this.#carried = carried;
  }

  /** The subscriptions that the next execution can resume. */
  get open(): readonly CarriedSubscription[] {
    return [...this.#open];
  }

  /** The messages of open subscriptions that the code has not read. */
  get unread(): readonly InboxItem[] {
    return this.open.flatMap(({ subscription }) =>
      this.listUnread(subscription).map((envelope): InboxItem => ({ kind: "topic", subscription, envelope })),
    );
  }

  /** Returns the messages of a subscription that the code has not read. */
  listUnread(subscription: string): readonly Envelope[] {
    const kept = this.#deps.driver.waits.listKept(toWaitKey(subscription));
    return kept.map(({ value }) => Json.as<Envelope>(value));
  }

  subscribe(topic: TopicId): Subscription {
    let begun: Promise<CarriedSubscription> | null = null;
    const begin = (): Promise<CarriedSubscription> => (begun ??= ignoreRejection(this.#begin(topic)));
    const messages = this.#read(begin);
    return { begin: async () => void (await begin()), [Symbol.asyncIterator]: () => messages };
  }

  async #begin(topic: TopicId): Promise<CarriedSubscription> {
    const subscription = this.#takeCarried(topic) ?? { topic, subscription: this.#deps.uuid() };
    await this.#tellTree(subscription, true);
    this.#open.add(subscription);
    return subscription;
  }

  #takeCarried(topic: TopicId): CarriedSubscription | undefined {
    const known = this.#carried.find((carried) => carried.topic === topic);
    this.#carried = this.#carried.filter((carried) => carried !== known);
    return known;
  }

  async *#read(begin: () => Promise<CarriedSubscription>): AsyncGenerator<Envelope, void> {
    const { driver, token } = this.#deps;
    const subscription = await begin();
    const key = toWaitKey(subscription.subscription);
    try {
      for (;;) {
        const { value } = await driver.waits.first([key]);
        yield Json.as<Envelope>(value);
      }
    } finally {
      driver.waits.close(key);
      this.#open.delete(subscription);
      if (!token.cancelled) await this.#tellTree(subscription, false);
    }
  }

  async #tellTree(subscription: CarriedSubscription, on: boolean): Promise<void> {
    const { driver, runId: run } = this.#deps;
    await driver.call("subscribe", { run, ...subscription, on, at: driver.time });
  }
}
