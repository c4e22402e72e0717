import {
  type ObjectContext as RestateObjectContext,
  type VirtualObjectDefinition,
  handlers,
  object,
  serde,
} from "@restatedev/restate-sdk";
import { type Json, KeyDestroyedError, type ObjectAsk, type SinkDefinition } from "#kernel";
import type { Seal, Seals } from "#sealing";
import type { Admin } from "./admin.ts";
import { BusinessError, retry } from "./business-error.ts";
import { CallSeals } from "./call-seals.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import { opened, sealedSerde } from "./sealed-serde.ts";
import type { ServiceNames } from "./service-names.ts";

/** Hosts a sink as a Restate virtual object: one call at a time for each key, tried until it succeeds. */
export function sinkHost(
  definition: SinkDefinition,
  host: { settings: HandlerSettings; names: ServiceNames; seals: Seals; admin: Admin },
): VirtualObjectDefinition<string, unknown> {
  const { settings, names, seals, admin } = host;
  const take = async (restate: RestateObjectContext, input: Uint8Array): Promise<void> => {
    const { key } = restate;
    const seal = await seals.of(key);
    const argument = read(seal, input);
    const { id } = restate.request();
    // One that has asked something before cannot just end: its journal says that it goes on.
    if (argument === undefined) return void admin.kill(id).catch(() => {});
    const calls = new CallSeals({ partition: key, seal, all: seals, id, input });
    await definition.take(key, argument, journaledAsk(restate, names, calls)).catch(retry);
  };
  return object({
    name: names.object(definition.type),
    handlers: { take: handlers.object.exclusive({ input: serde.binary, output: serde.empty }, take) },
    options: { ...settings, ingressPrivate: true, enableLazyState: true, journalRetention: 0 },
  });
}

/**
 * Through the journal of this call, not over the ingress: what is asked there is work of its own, which goes on when
 * whoever asked has died, and would be asked once more by each try.
 */
function journaledAsk(restate: RestateObjectContext, names: ServiceNames, seals: CallSeals): ObjectAsk {
  return async (to, method, parameter) => {
    const seal = await seals.of(to.key);
    const sealing = sealedSerde(seal);
    const service = names.object(to.type);
    const serdes = { inputSerde: sealing, outputSerde: sealing };
    try {
      return await restate.genericCall<Json, Json>({ service, key: to.key, method, parameter, ...serdes });
    } catch (error) {
      throw BusinessError.ofCall(error, seal);
    }
  };
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
