import { Json, type Page, type PageRequest, type WebhookDelivery } from "#kernel";
import type { SetWebhookResult, WebhookDetails, WebhookOptions, WebhookView } from "#runtime";
import type { Http } from "./http.ts";
import { search } from "./search.ts";

/** A webhook to set over HTTP. The tenant follows from the key. */
export type WebhookBody = Omit<WebhookOptions, "id" | "tenant">;

/** Webhooks of a tenant, over HTTP. Every method throws a {@link ClientError}. */
export class ClientWebhooks {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a webhook, or replaces the one of that id. The secret of a new one is in the answer, this once. */
  async set(id: string, body: WebhookBody): Promise<SetWebhookResult> {
    return Json.as(await this.#http.put(toWebhookPath(id), body));
  }

  async get(id: string): Promise<WebhookDetails> {
    return Json.as(await this.#http.get(toWebhookPath(id)));
  }

  /** Webhooks, by id. */
  async list(): Promise<readonly WebhookView[]> {
    return (await this.#http.list<WebhookView>("/webhooks")).items;
  }

  /** Removes a webhook and its pending deliveries. */
  async remove(id: string): Promise<void> {
    await this.#http.delete(toWebhookPath(id));
  }

  /** Gives a webhook a new secret. The old one signs as well, for `keepOldS`. Default: a day. */
  async rotateSecret(
    id: string,
    body: { readonly keepOldS?: number; readonly secret?: string } = {},
  ): Promise<{ readonly secret: string }> {
    return Json.as(await this.#http.post(`${toWebhookPath(id)}/rotate-secret`, body));
  }

  /** Events that are on their way, or were given up, newest first. */
  deliveries(
    id: string,
    query: { readonly status?: WebhookDelivery["status"] | undefined } & Partial<PageRequest> = {},
  ): Promise<Page<WebhookDelivery>> {
    return this.#http.list(`${toWebhookPath(id)}/deliveries${search(query)}`);
  }

  /** Sends events again that were given up: one of them, or all. Returns how many. */
  async redeliver(id: string, body: { readonly delivery?: string } = {}): Promise<number> {
    const answer = await this.#http.post(`${toWebhookPath(id)}/redeliver`, body);
    return Json.as<{ readonly count: number }>(answer).count;
  }
}

const toWebhookPath = (id: string): string => `/webhooks/${encodeURIComponent(id)}`;
