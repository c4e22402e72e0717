import { InvalidArgumentError, Option } from "commander";
import { webhookEvents, type WebhookDelivery, type WebhookEvent } from "#kernel";
import * as webhooks from "../commands/webhooks.ts";
import { omitUndefined, parseCount } from "./arguments.ts";
import type { Commands } from "./commands.ts";

interface WebhookFlags {
  readonly url?: string;
  readonly json?: boolean;
}

interface SetFlags extends WebhookFlags {
  readonly events?: readonly WebhookEvent[];
  readonly allRuns?: boolean;
}

interface RotateFlags extends WebhookFlags {
  readonly keepOld?: number;
}

interface DeliveryFlags extends WebhookFlags {
  readonly status?: WebhookDelivery["status"];
}

/** Adds `reeve webhooks`: URLs that receive events of runs. */
export function addWebhooks({ program, addServerOptions, contextOf, exit }: Commands): void {
  const group = program.command("webhooks").description("manage webhooks for events of runs");
  addServerOptions(group.command("list"))
    .description("list webhooks")
    .action(async (flags: WebhookFlags) => exit(await webhooks.listWebhooks(contextOf(flags))));
  addServerOptions(group.command("set <id> <target>"))
    .description("send events to a URL; the same id again replaces the webhook")
    .option("--events <events>", `one or more of ${webhookEvents.join(",")} (default: all)`, eventsOf)
    .option("--all-runs", "also send run.end of child runs")
    .addHelpText(
      "after",
      "\nExample:\n  reeve webhooks set ops https://ops.example.com/reeve --events run.end,approval.requested",
    )
    .action(async (id: string, target: string, { events, allRuns, ...flags }: SetFlags) =>
      exit(
        await webhooks.setWebhook(contextOf(flags), id, {
          url: target,
          ...omitUndefined({ events, allRuns }),
        }),
      ),
    );
  addServerOptions(group.command("remove <id>"))
    .description("remove a webhook and its pending deliveries")
    .action(async (id: string, flags: WebhookFlags) =>
      exit(await webhooks.removeWebhook(contextOf(flags), id)),
    );
  addServerOptions(group.command("rotate-secret <id>"))
    .description("create a new secret and print it once")
    .option("--keep-old <seconds>", "how long the old secret still signs (default: one day)", parseCount)
    .action(async (id: string, { keepOld, ...flags }: RotateFlags) =>
      exit(await webhooks.rotate(contextOf(flags), id, keepOld)),
    );
  addServerOptions(group.command("deliveries <id>"))
    .description("list pending and dead deliveries")
    .addOption(
      new Option("--status <status>", "only deliveries with this status").choices(["pending", "dead"]),
    )
    .action(async (id: string, { status, ...flags }: DeliveryFlags) =>
      exit(await webhooks.deliveries(contextOf(flags), id, status)),
    );
  addServerOptions(group.command("redeliver <id> [delivery]"))
    .description("send dead deliveries again: one, or all")
    .action(async (id: string, delivery: string | undefined, flags: WebhookFlags) =>
      exit(await webhooks.redeliver(contextOf(flags), id, delivery)),
    );
}

function eventsOf(text: string): readonly WebhookEvent[] {
  return text.split(",").map((name) => {
    const found = webhookEvents.find((event) => event === name.trim());
    if (!found) throw new InvalidArgumentError(`one or more of ${webhookEvents.join(",")}`);
    return found;
  });
}
