import type { EventType } from "./event.ts";
import type { TreeId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Partition } from "./partition.ts";

/** The events that a webhook can be sent. */
export const webhookEvents = [
  "run.end",
  "approval.requested",
  "budget.warning",
] as const satisfies readonly EventType[];

/** The name of an event that a webhook can be sent. */
export type WebhookEvent = (typeof webhookEvents)[number];

/** A webhook: a URL that is sent events of its tenant. */
export interface WebhookRecord {
  readonly id: string;
  readonly events: readonly WebhookEvent[];
  /** Whether the ends of runs below the root are sent as well. */
  readonly allRuns: boolean;
  /** When it was set. Milliseconds since 1970. */
  readonly setAt: number;
  /** The URL and the secrets: content, which a store that seals keeps sealed. */
  readonly target: Json;
}

/** One event on its way to one webhook. It is removed once the webhook has taken it. */
export interface WebhookDelivery {
  /** Unique within its webhook. */
  readonly id: string;
  readonly webhookId: string;
  readonly treeId: TreeId;
  /** The number of the event in its tree. */
  readonly seq: number;
  readonly event: WebhookEvent;
  /** When the event happened. */
  readonly at: number;
  /** `dead`: it has failed too often, and is not tried again by itself. */
  readonly status: "pending" | "dead";
  /** The number of tries that failed. */
  readonly attempts: number;
  /** The next try is not before. */
  readonly nextAt: number;
  /** The reason why the last try failed; null: none has. */
  readonly error: string | null;
}

/** An event to send to a webhook. */
export type NewWebhookDelivery = Pick<WebhookDelivery, "webhookId" | "treeId" | "seq" | "event" | "at">;

/** Constructors of {@link WebhookDelivery}. */
export const WebhookDelivery = {
  /** The id of the delivery of an event: a number never has a dot. */
  id: ({ treeId, seq }: Pick<WebhookDelivery, "treeId" | "seq">): string => `${treeId}.${seq}`,
} as const;

/** A delivery that one sender holds until its lease is over. */
export interface ClaimedDelivery extends WebhookDelivery {
  readonly partition: Partition;
  readonly lease: string;
}

/** A request for deliveries that are due. */
export interface ClaimRequest {
  /** The name of the lease: unique for each request. */
  readonly lease: string;
  readonly now: number;
  /** The end of the lease. Then another sender may claim the same. */
  readonly until: number;
  readonly limit: number;
  /** The most that all senders hold for one webhook, so that a slow one does not hold up the others. */
  readonly perWebhook: number;
}

/** The end of one try. */
type DeliveryOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly nextAt: number; readonly error: string }
  | { readonly kind: "dead"; readonly error: string };

/** Webhooks, and the events that are on their way to them. Deliveries hold ids and times, no content. */
export interface WebhookStore {
  /** Adds a webhook, or replaces the one of its id. */
  put(partition: Partition, webhook: WebhookRecord): Promise<void>;
  get(partition: Partition, id: string): Promise<WebhookRecord | null>;
  /** Those of a tenant, in the order of their ids. */
  list(partition: Partition): Promise<readonly WebhookRecord[]>;
  /** Removes a webhook and its deliveries. Returns whether there was one. */
  remove(partition: Partition, id: string): Promise<boolean>;
  /** Adds deliveries that are due at their `at`. Idempotent by webhook, tree and number: the first one stays. */
  enqueue(partition: Partition, deliveries: readonly NewWebhookDelivery[]): Promise<void>;
  /** Newest first, by `at`. */
  deliveries(
    partition: Partition,
    filter: { readonly webhookId: string; readonly status?: WebhookDelivery["status"] },
    page: PageRequest,
  ): Promise<Page<WebhookDelivery>>;
  /** Counts the deliveries of a webhook. */
  count(
    partition: Partition,
    webhookId: string,
  ): Promise<{ readonly pending: number; readonly dead: number }>;
  /** Makes dead deliveries pending, with no failed try: one of them, or all of the webhook. Returns how many. */
  redeliver(
    partition: Partition,
    request: { readonly webhookId: string; readonly id?: string | undefined; readonly at: number },
  ): Promise<number>;
  /**
   * Leases deliveries of all tenants that are due. For each webhook and tree only the first pending one can be had, so
   * events of a tree go out in their order, through one sender at a time.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedDelivery[]>;
  /** Records the end of a try, unless the lease is lost. */
  settle(claimed: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void>;
}
