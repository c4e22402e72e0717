import type { WebhookDelivery } from "#kernel";
import type { WebhookView } from "#runtime";
import { moment, clean } from "#view";
import { type Column, table } from "../text/table.ts";
import type { Screen } from "./screen.ts";

/** Webhooks, one line each. */
export function webhookLines(webhooks: readonly WebhookView[], screen: Screen): readonly string[] {
  const columns: readonly Column<WebhookView>[] = [
    { title: "webhook", text: ({ id }) => id, shrinkTo: 8 },
    { title: "events", text: ({ events }) => events.join(" "), shrinkTo: 8 },
    { title: "runs", text: ({ allRuns }) => (allRuns ? "all" : "roots") },
    { title: "url", text: ({ url }) => clean(url), shrinkTo: 12 },
  ];
  return webhooks.length === 0 ? ["no webhooks"] : table(columns, webhooks, screen);
}

/** Deliveries, one line each. */
export function deliveryLines(deliveries: readonly WebhookDelivery[], screen: Screen): readonly string[] {
  const columns: readonly Column<WebhookDelivery>[] = [
    { title: "delivery", text: ({ id }) => clean(id), shrinkTo: 8 },
    { title: "event", text: ({ event }) => event },
    { title: "at", text: ({ at }) => moment(at) },
    { title: "status", text: ({ status }) => status },
    { title: "tries", text: ({ attempts }) => String(attempts), align: "right" },
    { title: "error", text: ({ error }) => clean(error ?? ""), shrinkTo: 8 },
  ];
  return deliveries.length === 0 ? ["no deliveries"] : table(columns, deliveries, screen);
}
