import {
  type ObjectContext as RestateObjectContext,
  type VirtualObjectDefinition,
  handlers,
  object,
  serde,
} from "@restatedev/restate-sdk";
import type { SinkDefinition } from "#kernel";
import type { Seals } from "#sealing";
import { retry } from "./business-error.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import { opened } from "./sealed-serde.ts";
import type { ServiceNames } from "./service-names.ts";

/** Hosts a sink as a Restate virtual object: one call at a time for each key, tried until it succeeds. */
export function sinkHost(
  definition: SinkDefinition,
  { settings, names, seals }: { settings: HandlerSettings; names: ServiceNames; seals: Seals },
): VirtualObjectDefinition<string, unknown> {
  const take = async ({ key }: RestateObjectContext, input: Uint8Array): Promise<void> => {
    const seal = await seals.of(key);
    await definition.take(key, opened(seal, input)).catch(retry);
  };
  return object({
    name: names.object(definition.type),
    handlers: { take: handlers.object.exclusive({ input: serde.binary, output: serde.empty }, take) },
    options: { ...settings, ingressPrivate: true, enableLazyState: true, journalRetention: 0 },
  });
}
