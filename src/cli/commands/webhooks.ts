import type { WebhookBody } from "#client";
import type { WebhookDelivery } from "#kernel";
import { ExitCode } from "../exit-code.ts";
import { screenOf } from "../terminal.ts";
import { deliveryLines, webhookLines } from "../views/webhooks.ts";
import { type Context, printLines, sayJson } from "./command.ts";

/** Lists webhooks. */
export async function listWebhooks(context: Context): Promise<number> {
  const found = await context.client.webhooks.list();
  if (context.json) for (const webhook of found) sayJson(context, webhook);
  else printLines(context, webhookLines(found, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Creates a webhook, or replaces it. Shows the secret of a new one, once. */
export async function setWebhook(context: Context, id: string, body: WebhookBody): Promise<number> {
  const found = await context.client.webhooks.set(id, body);
  const secret = found.secret === undefined ? [] : [`secret (shown once): ${found.secret}`];
  if (context.json) sayJson(context, found);
  else printLines(context, [`${id}: ${found.events.join(", ")}`, ...secret]);
  return ExitCode.ok;
}

/** Removes a webhook. */
export async function removeWebhook(context: Context, id: string): Promise<number> {
  await context.client.webhooks.remove(id);
  if (context.json) sayJson(context, { removed: id });
  else printLines(context, [`${id}: removed`]);
  return ExitCode.ok;
}

/** Gives a webhook a new secret, and shows it once. */
export async function rotate(context: Context, id: string, keepOldS: number | undefined): Promise<number> {
  const rotated = await context.client.webhooks.rotateSecret(id, keepOldS === undefined ? {} : { keepOldS });
  if (context.json) sayJson(context, rotated);
  else printLines(context, [`secret (shown once): ${rotated.secret}`]);
  return ExitCode.ok;
}

/** Lists events that are on their way to a webhook, page by page. */
export async function deliveries(
  context: Context,
  id: string,
  status: WebhookDelivery["status"] | undefined,
): Promise<number> {
  const found: WebhookDelivery[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await context.client.webhooks.deliveries(id, { status, size: 200, ...(after && { after }) });
    found.push(...page.items);
    after = page.next;
  }
  if (context.json) for (const delivery of found) sayJson(context, delivery);
  else printLines(context, deliveryLines(found, screenOf(context.terminal)));
  return ExitCode.ok;
}

/** Sends events again that were given up. */
export async function redeliver(context: Context, id: string, delivery: string | undefined): Promise<number> {
  const count = await context.client.webhooks.redeliver(id, delivery === undefined ? {} : { delivery });
  if (context.json) sayJson(context, { count });
  else printLines(context, [`${id}: ${count} ${count === 1 ? "delivery" : "deliveries"} queued again`]);
  return ExitCode.ok;
}
