import {
  type ObjectContext as RestateObjectContext,
  type VirtualObjectDefinition,
  handlers,
  object,
  serde,
} from "@restatedev/restate-sdk";
import {
  type Json,
  KeyDestroyedError,
  type CallObject,
  type SinkDefinition,
  type Seal,
  type Sealing,
} from "#kernel";
import type { Admin } from "../client/admin.ts";
import { BusinessError, retry } from "../client/business-error.ts";
import { CallSeals } from "../sealing/call-seals.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import { argumentSeal, sealCall } from "../sealing/sealed-call.ts";
import { openJson, sealedSerde } from "../sealing/sealed-serde.ts";
import type { ServiceNames } from "../service-names.ts";

/** Hosts a sink as a Restate virtual object: one call at a time for each key, retried until it succeeds. */
export function sinkHost(
  definition: SinkDefinition,
  host: { settings: HandlerSettings; names: ServiceNames; seals: Sealing; admin: Admin },
): VirtualObjectDefinition<string, unknown> {
  const { settings, names, seals, admin } = host;
  const take = async (restate: RestateObjectContext, input: Uint8Array): Promise<void> => {
    const { key } = restate;
    const seal = await seals.getSeal(key);
    const argument = readMessage(argumentSeal(seal, definition.type, "take"), input);
    const { id } = restate.request();
    // A call that has made requests before cannot just end: its journal continues. So it is killed.
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
 * Creates calls through the journal of this invocation, not over the ingress. A call over the ingress is independent:
 * it would continue after its caller died, and each try would make it again.
 */
function journaledAsk(restate: RestateObjectContext, names: ServiceNames, seals: CallSeals): CallObject {
  let asked = 0;
  return async (to, method, argument) => {
    const seal = await seals.getSeal(to.key, `ask/${asked++}`);
    const { parameter, reply } = sealCall(seal, { to, method, argument });
    const service = names.object(to.type);
    const serdes = { inputSerde: serde.binary, outputSerde: sealedSerde(reply) };
    try {
      return await restate.genericCall<Uint8Array, Json>({
        service,
        key: to.key,
        method,
        parameter,
        ...serdes,
      });
    } catch (error) {
      throw BusinessError.ofCall(error, reply);
    }
  };
}

/** Opens a message. Undefined if its key was destroyed: then everything was processed before. */
function readMessage(seal: Seal, input: Uint8Array): Json | undefined {
  try {
    return openJson(seal, input);
  } catch (error) {
    if (error instanceof KeyDestroyedError) return undefined;
    throw error;
  }
}
