import {
  type ObjectContext,
  type ObjectSharedContext,
  type VirtualObjectDefinition,
  handlers,
  object,
  serde,
} from "@restatedev/restate-sdk";
import type { HandlerSettings } from "./handler-settings.ts";
import type { ServiceNames } from "./service-names.ts";

const part = "bytes";
const nothing = new Uint8Array();

/** Keeps parts of what is too large for a journal, each under a key of its own. It never sees what they mean. */
export function blobHost(
  settings: HandlerSettings,
  names: ServiceNames,
): VirtualObjectDefinition<string, unknown> {
  return object({
    name: names.blob,
    handlers: {
      put: handlers.object.exclusive(
        { input: serde.binary, output: serde.empty },
        async (restate: ObjectContext, bytes: Uint8Array) => restate.set(part, bytes, serde.binary),
      ),
      /** Nothing where it was never put, or is removed. */
      get: handlers.object.shared(
        { input: serde.binary, output: serde.binary },
        async (restate: ObjectSharedContext) => (await restate.get(part, serde.binary)) ?? nothing,
      ),
      remove: handlers.object.exclusive(
        { input: serde.binary, output: serde.empty },
        async (restate: ObjectContext) => restate.clear(part),
      ),
    },
    options: { ...settings, journalRetention: 0 },
  });
}
