import { randomBytes } from "node:crypto";
import {
  checkDuration,
  Json,
  NotFoundError,
  Partition,
  webhookEvents,
  type Page,
  type PageRequest,
  type Store,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookRecord,
} from "#kernel";
import type { AddressPolicy } from "#net";
import { toWebhookSecret, webhookKey } from "./signature.ts";
import { readTarget, type TargetSecret, type WebhookTarget } from "./target.ts";

/** The tenant of a webhook. */
export interface WebhookOwner {
  readonly tenant?: string | undefined;
}

/** A webhook to set. */
export interface WebhookOptions extends WebhookOwner {
  /** 1 to 64 letters, digits, dots, dashes and underscores. The same id again replaces the webhook. */
  readonly id: string;
  /** Must be allowed by the address policy. */
  readonly url: string;
  /** Default: all of `run.end`, `approval.requested`, `budget.warning`. */
  readonly events?: readonly WebhookEvent[] | undefined;
  /** Whether the ends of runs below the root are sent as well. Default: only the ends of trees. */
  readonly allRuns?: boolean | undefined;
  /** `whsec_` and 24 to 64 bytes in base64. Default: that of the webhook of this id; for a new one, a random secret. */
  readonly secret?: string | undefined;
}

/** A webhook as lists show it, without its secrets. */
export interface WebhookView extends Pick<WebhookRecord, "id" | "events" | "allRuns" | "setAt"> {
  readonly url: string;
}

/** A webhook with the numbers of its deliveries. */
export interface WebhookDetails extends WebhookView {
  readonly pending: number;
  readonly dead: number;
}

/** A webhook that was set. */
export interface SetWebhookResult extends WebhookView {
  /** The secret, if it was generated here. It is returned only once. */
  readonly secret?: string;
}

/** The deliveries to list. */
export interface DeliveryFilter extends WebhookOwner, Partial<PageRequest> {
  readonly status?: WebhookDelivery["status"] | undefined;
}

/** The most webhooks of one tenant: each event is written once for each of them. */
const maxWebhooks = 20;

/** The services that webhooks are set with. */
export interface WebhooksDeps {
  /** @throws TypeError without a store. */
  readonly store: () => Store;
  readonly policy: AddressPolicy;
  readonly now: () => number;
  /** Called when there may be something to send. */
  readonly wake: () => void;
}

/** Webhooks: URLs that receive events of a tenant's runs. */
export class Webhooks {
  readonly #deps: WebhooksDeps;

  constructor(deps: WebhooksDeps) {
    this.#deps = deps;
  }

  /**
   * Creates a webhook, or replaces the one of that id. It is sent events that happen from now on.
   *
   * @throws AddressRefusedError on a URL that the policy refuses; TypeError on an id, event or secret that is none; RangeError
   * if the tenant has too many.
   */
  async set(options: WebhookOptions): Promise<SetWebhookResult> {
    const { tenant, allRuns = false, secret } = options;
    const id = checkWebhookId(options.id);
    const events = checkEvents(options.events ?? webhookEvents);
    const { href: url } = this.#deps.policy.checkUrl(options.url);
    if (secret !== undefined) webhookKey(secret);
    const partition = Partition.of(tenant);
    const fresh = secret ?? toWebhookSecret(randomBytes(32));
    const webhook = await this.#change(partition, id, async (known) => {
      if (!known && (await this.#webhooks.list(partition)).length >= maxWebhooks)
        throw new RangeError(`a tenant may have at most ${maxWebhooks} webhooks`);
      const isKept = known && secret === undefined;
      const secrets = isKept ? readTarget(known).secrets : [{ value: fresh, until: null }];
      return { id, events, allRuns, setAt: this.#deps.now(), target: toJson({ url, secrets }) };
    });
    const isGenerated = secret === undefined && webhook.revision === 1;
    return { ...toWebhookView(webhook), ...(isGenerated && { secret: fresh }) };
  }

  /** Finds a webhook; null: there is none of that id. */
  async get(id: string, { tenant }: WebhookOwner = {}): Promise<WebhookDetails | null> {
    const partition = Partition.of(tenant);
    const found = await this.#webhooks.get(partition, checkWebhookId(id));
    return found && { ...toWebhookView(found), ...(await this.#webhooks.count(partition, id)) };
  }

  /** Lists the webhooks of a tenant, by id. */
  async list({ tenant }: WebhookOwner = {}): Promise<readonly WebhookView[]> {
    return (await this.#webhooks.list(Partition.of(tenant))).map(toWebhookView);
  }

  /** Removes a webhook and its pending deliveries. Returns whether it existed. */
  remove(id: string, { tenant }: WebhookOwner = {}): Promise<boolean> {
    return this.#webhooks.remove(Partition.of(tenant), checkWebhookId(id));
  }

  /**
   * Gives a webhook a new secret. Requests are signed with both until the old one expires after `keepOldS` (default:
   * 86,400, a day). Returns the new one, only once. @throws NotFoundError
   */
  async rotateSecret(
    id: string,
    options: WebhookOwner & {
      readonly secret?: string | undefined;
      readonly keepOldS?: number | undefined;
    } = {},
  ): Promise<{ readonly secret: string }> {
    const { tenant, secret = toWebhookSecret(randomBytes(32)), keepOldS = 86_400 } = options;
    webhookKey(secret);
    checkDuration("keepOldS", keepOldS);
    const partition = Partition.of(tenant);
    await this.#change(partition, checkWebhookId(id), async (found) => {
      if (!found) throw new NotFoundError({ what: "webhook", id });
      const { url, secrets } = readTarget(found);
      const [newest] = secrets;
      const until = this.#deps.now() + keepOldS * 1_000;
      // The one before the last goes now: a request has two signatures at most.
      const kept: readonly TargetSecret[] = newest ? [{ value: newest.value, until }] : [];
      return { ...found, target: toJson({ url, secrets: [{ value: secret, until: null }, ...kept] }) };
    });
    return { secret };
  }

  /** Changes a webhook as it is when the change is written: begins again if another caller has changed it meanwhile. */
  async #change(
    partition: Partition,
    id: string,
    change: (known: WebhookRecord | null) => Promise<Omit<WebhookRecord, "revision">>,
  ): Promise<WebhookRecord> {
    for (;;) {
      const known = await this.#webhooks.get(partition, id);
      const webhook = { ...(await change(known)), revision: (known?.revision ?? 0) + 1 };
      if (await this.#webhooks.put(partition, webhook)) return webhook;
    }
  }

  /** Lists pending and dead deliveries of a webhook, newest first. @throws NotFoundError */
  async deliveries(id: string, filter: DeliveryFilter = {}): Promise<Page<WebhookDelivery>> {
    const { tenant, status, size = 50, after } = filter;
    const partition = Partition.of(tenant);
    await this.#check(partition, id);
    return this.#webhooks.deliveries(
      partition,
      { webhookId: id, ...(status && { status }) },
      { size, ...(after !== undefined && { after }) },
    );
  }

  /** Sends dead deliveries again: one of them, or all of the webhook. Returns how many. @throws NotFoundError */
  async redeliver(
    id: string,
    { tenant, delivery }: WebhookOwner & { readonly delivery?: string | undefined } = {},
  ): Promise<number> {
    const partition = Partition.of(tenant);
    await this.#check(partition, id);
    const request = { webhookId: id, id: delivery, at: this.#deps.now() };
    const count = await this.#webhooks.redeliver(partition, request);
    if (count > 0) this.#deps.wake();
    return count;
  }

  get #webhooks(): Store["webhooks"] {
    return this.#deps.store().webhooks;
  }

  async #check(partition: Partition, id: string): Promise<void> {
    if (!(await this.#webhooks.get(partition, checkWebhookId(id))))
      throw new NotFoundError({ what: "webhook", id });
  }
}

/** Returns the id of a webhook. @throws TypeError if it is none. */
export function checkWebhookId(id: string): string {
  if (/^[\w.-]{1,64}$/.test(id)) return id;
  throw new TypeError(
    `invalid webhook id ${JSON.stringify(id.slice(0, 100))}: use 1 to 64 letters, digits, dots, dashes and underscores`,
  );
}

function checkEvents(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  const wrong = events.find((event) => !webhookEvents.includes(event));
  if (wrong !== undefined || events.length === 0)
    throw new TypeError(
      `events must be one or more of ${webhookEvents.join(", ")}, got ${JSON.stringify(wrong)}`,
    );
  return [...new Set(events)];
}

const toJson = (target: WebhookTarget): Json => Json.of(target);

function toWebhookView(webhook: WebhookRecord): WebhookView {
  const { id, events, allRuns, setAt } = webhook;
  return { id, url: readTarget(webhook).url, events, allRuns, setAt };
}
