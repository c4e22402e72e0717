import {
  type ObjectContext as RestateObjectContext,
  type ObjectSharedContext as RestateSharedContext,
  type VirtualObjectDefinition,
  handlers,
  object,
} from "@restatedev/restate-sdk";
import type { Json, ObjectAddress, ObjectDefinition, ObjectMethod } from "#kernel";
import { BusinessError } from "./business-error.ts";
import type { HandlerSettings } from "./handler-settings.ts";
import { ObjectCall } from "./object-call.ts";
import type { ServiceNames } from "./service-names.ts";

/** What objects are hosted with. */
export interface ObjectHostOptions {
  readonly settings: HandlerSettings;
  readonly names: ServiceNames;
  /** Told which parts of its state an object has changed here. */
  readonly written: (object: ObjectAddress, names: ReadonlySet<string>) => void;
}

/** Hosts one kind of object as a Restate virtual object: methods exclusive, queries shared, state read key by key. */
export function objectHost(
  definition: ObjectDefinition,
  { settings, names, written }: ObjectHostOptions,
): VirtualObjectDefinition<string, unknown> {
  const methods = Object.entries(definition.methods).map(([name, method]) => [
    name,
    handlers.object.exclusive({}, async (restate: RestateObjectContext, argument: Json) => {
      const { result, changed } = await answer(ObjectCall.ofMethod(restate, names), method, argument);
      written({ type: definition.type, key: restate.key }, changed);
      return result;
    }),
  ]);
  const queries = Object.entries(definition.queries).map(([name, query]) => [
    name,
    handlers.object.shared({}, async (restate: RestateSharedContext, argument: Json) => {
      const { result } = await answer(ObjectCall.ofQuery(restate, names), query, argument);
      return result;
    }),
  ]);
  return object({
    name: names.object(definition.type),
    handlers: Object.fromEntries([...methods, ...queries]) as Record<string, never>,
    options: {
      ...settings,
      enableLazyState: true,
      journalRetention: 0, // Nobody attaches to a call, and journals hold what objects are told.
    },
  });
}

async function answer(
  call: ObjectCall,
  method: ObjectMethod,
  argument: Json,
): ReturnType<ObjectCall["execute"]> {
  try {
    return await call.execute(method, argument);
  } catch (error) {
    throw BusinessError.toTerminal(error);
  }
}
