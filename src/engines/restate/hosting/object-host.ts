import {
  type ObjectContext as RestateObjectContext,
  type ObjectSharedContext as RestateSharedContext,
  type VirtualObjectDefinition,
  handlers,
  object,
  serde,
} from "@restatedev/restate-sdk";
import type { Json, ObjectAddress, ObjectDefinition, Sealing, Seal } from "#kernel";
import { BusinessError } from "../client/business-error.ts";
import { CallSeals } from "../sealing/call-seals.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import { ObjectCall } from "./object-call.ts";
import { argumentSeal } from "../sealing/sealed-call.ts";
import { openJson, sealJson } from "../sealing/sealed-serde.ts";
import type { ServiceNames } from "../service-names.ts";

/** The dependencies of hosted objects. */
export interface ObjectHostOptions {
  readonly settings: HandlerSettings;
  readonly names: ServiceNames;
  readonly seals: Sealing;
  /** Ends an execution for good, best effort. */
  readonly kill: (execution: string) => void;
  /** The time at which this worker began to serve. */
  readonly hostedSince: number;
  /** Called with the names that an object has changed in this process. */
  readonly notifyWritten: (object: ObjectAddress, names: ReadonlySet<string>) => void;
}

const bytes = { input: serde.binary, output: serde.binary };

/** Hosts one type of object as a Restate virtual object: methods exclusive, queries shared, state read key by key. */
export function objectHost(
  definition: ObjectDefinition,
  { settings, names, seals, kill, hostedSince, notifyWritten }: ObjectHostOptions,
): VirtualObjectDefinition<string, unknown> {
  const shared = { definition, names, kill, hostedSince };
  const methods = Object.entries(definition.methods).map(([name, method]) => [
    name,
    handlers.object.exclusive(bytes, async (restate: RestateObjectContext, input: Uint8Array) => {
      const { argument, using } = await readArgument(
        restate,
        (seal) => argumentSeal(seal, definition.type, name),
        {
          input,
          seals,
        },
      );
      const call = new ObjectCall({ ...shared, restate, writer: restate, seals: using });
      const { result, changed } = await call.execute(method, argument);
      notifyWritten({ type: definition.type, key: restate.key }, changed);
      return sealJson(using.reply, result);
    }),
  ]);
  const queries = Object.entries(definition.queries).map(([name, query]) => [
    name,
    handlers.object.shared(bytes, async (restate: RestateSharedContext, input: Uint8Array) => {
      const { argument, using } = await readArgument(
        restate,
        (seal) => argumentSeal(seal, definition.type, name),
        {
          input,
          seals,
        },
      );
      const call = new ObjectCall({ ...shared, restate, writer: null, seals: using });
      const { result } = await call.execute(query, argument);
      return sealJson(using.reply, result);
    }),
  ]);
  return object({
    name: names.object(definition.type),
    handlers: Object.fromEntries([...methods, ...queries]) as Record<string, never>,
    options: {
      ...settings,
      enableLazyState: true,
      journalRetention: 0, // No caller attaches to a call, and journals hold arguments.
    },
  });
}

/** Opens the argument of a call. One that cannot be opened is refused: retries would block the object. */
async function readArgument(
  restate: RestateSharedContext,
  bind: (seal: Seal) => Seal,
  { input, seals: all }: { readonly input: Uint8Array; readonly seals: Sealing },
): Promise<{ readonly argument: Json; readonly using: CallSeals }> {
  const partition = restate.key;
  try {
    const seal = await all.getSeal(partition);
    const using = new CallSeals({ partition, seal, all, id: restate.request().id, input });
    return { argument: openJson(bind(seal), input), using };
  } catch (error) {
    throw BusinessError.ofSealing(error) ?? error;
  }
}
