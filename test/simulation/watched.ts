import {
  delegateObject,
  type EngineProgram,
  type Json,
  type ObjectContext,
  type ObjectMethod,
} from "#kernel";
import { openStored } from "./stored-value.ts";

/** One call that changed an object, or could have. */
export interface Transition {
  readonly type: string;
  readonly key: string;
  readonly method: string;
  readonly argument: Json;
  readonly reply: Json;
  /** The whole state of the object. */
  readonly state: ReadonlyMap<string, Json>;
  /** The values written by this call, with the previous ones. */
  readonly written: ReadonlyMap<string, { readonly before: Json; readonly after: Json }>;
}

/** Returns a program that reports every transition of every object. */
export function watchProgram(program: EngineProgram, tell: (transition: Transition) => void): EngineProgram {
  const states = new Map<string, Map<string, Json>>();
  const watch = (type: string, name: string, method: ObjectMethod): ObjectMethod => {
    return (object, argument) => {
      const address = `${type}/${object.key}`;
      const state = states.get(address) ?? new Map<string, Json>();
      states.set(address, state);
      const writes = new Map<string, Json>();
      const reply = method(noteWrites(object, writes), argument);
      const written = new Map<string, { before: Json; after: Json }>();
      for (const [key, stored] of writes) {
        const after = openStored(stored);
        written.set(key, { before: state.get(key) ?? null, after });
        if (after === null) state.delete(key);
        else state.set(key, after);
      }
      tell({ type, key: object.key, method: name, argument, reply, state, written });
      return reply;
    };
  };
  const objects = program.objects.map((definition) => {
    const methods = Object.entries(definition.methods).map(([name, method]) => [
      name,
      watch(definition.type, name, method),
    ]);
    return { ...definition, methods: Object.fromEntries(methods) };
  });
  return { ...program, objects };
}

function noteWrites(object: ObjectContext, writes: Map<string, Json>): ObjectContext {
  return delegateObject(object, {
    set: (name, value) => {
      writes.set(name, value);
      object.set(name, value);
    },
    clear: (name) => {
      writes.set(name, null);
      object.clear(name);
    },
  });
}
