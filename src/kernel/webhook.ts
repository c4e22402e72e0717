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
  /** 1 for a new webhook, and one more with each change. */
  readonly revision: number;
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
  /** `dead`: it failed too often and is not retried automatically. */
  readonly status: "pending" | "dead";
  /** The number of tries that failed. */
  readonly attempts: number;
  /** Earliest time of the next try. */
  readonly nextAt: number;
  /** The reason why the last try failed. Null: no try failed. */
  readonly error: string | null;
}

/** An event to send to a webhook. */
export type NewWebhookDelivery = Pick<WebhookDelivery, "webhookId" | "treeId" | "seq" | "event" | "at">;

/** Constructors of {@link WebhookDelivery}. */
export const WebhookDelivery = {
  /** Returns the id of an event's delivery. Unambiguous, because a number never has a dot. */
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
  /** End of the lease. After it, another sender may claim the same delivery. */
  readonly until: number;
  readonly limit: number;
  /** Maximum deliveries that all senders hold for one webhook, so that a slow webhook does not delay the others. */
  readonly perWebhook: number;
  /** Maximum deliveries that all senders hold for one tenant, so that its receivers do not delay those of others. */
  readonly perTenant: number;
}

/** The end of one try. */
type DeliveryOutcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly nextAt: number; readonly error: string }
  /** `keep`: the number of dead deliveries of the webhook that stay. The oldest ones go. */
  | { readonly kind: "dead"; readonly error: string; readonly keep: number };

/** Webhooks, and the events that are on their way to them. Deliveries hold ids and times, no content. */
export interface WebhookStore {
  /**
   * Adds a webhook, or replaces the one of its id. Returns false, and changes nothing, unless its revision follows the
   * stored one: another caller was faster.
   */
  put(partition: Partition, webhook: WebhookRecord): Promise<boolean>;
  get(partition: Partition, id: string): Promise<WebhookRecord | null>;
  /** Lists the webhooks of a tenant, in the order of their ids. */
  list(partition: Partition): Promise<readonly WebhookRecord[]>;
  /** Removes a webhook and its deliveries. Returns whether there was one. */
  remove(partition: Partition, id: string): Promise<boolean>;
  /** Adds deliveries that are due at their `at`. Idempotent by webhook, tree and number: the first one stays. */
  enqueue(partition: Partition, deliveries: readonly NewWebhookDelivery[]): Promise<void>;
  /** Lists deliveries, newest first, by `at`. */
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
  /**
   * Makes dead deliveries pending again, with no failed try: one of them, or all of the webhook. Returns their number.
   */
  redeliver(
    partition: Partition,
    request: { readonly webhookId: string; readonly id?: string | undefined; readonly at: number },
  ): Promise<number>;
  /**
   * Leases due deliveries of all tenants. For each webhook and tree only the first pending one is available, so events
   * of a tree are sent in order, by one sender at a time. Tenants with fewer leases go first, then webhooks with fewer.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedDelivery[]>;
  /** Records the end of a try, unless the lease is lost. */
  settle(claimed: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void>;
}
