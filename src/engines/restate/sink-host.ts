import {
  type ObjectContext as RestateObjectContext,
  type VirtualObjectDefinition,
  handlers,
  object,
  serde,
} from "@restatedev/restate-sdk";
import { type Json, KeyDestroyedError, type SinkDefinition } from "#kernel";
import type { Seal, Seals } from "#sealing";
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
    const argument = read(await seals.of(key), input);
    if (argument !== undefined) await definition.take(key, argument).catch(retry);
  };
  return object({
    name: names.object(definition.type),
    handlers: { take: handlers.object.exclusive({ input: serde.binary, output: serde.empty }, take) },
    options: { ...settings, ingressPrivate: true, enableLazyState: true, journalRetention: 0 },
  });
}

/** Undefined where its key was destroyed: then everything was taken before. */
function read(seal: Seal, input: Uint8Array): Json | undefined {
  try {
    return opened(seal, input);
  } catch (error) {
    if (error instanceof KeyDestroyedError) return undefined;
    throw error;
  }
}
