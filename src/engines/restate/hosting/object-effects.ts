import {
  type ObjectContext as RestateObjectContext,
  InvocationIdParser,
  serde as plain,
} from "@restatedev/restate-sdk";
import type { Json, Seal } from "#kernel";
import { wakeSeal } from "../sealing/sealed-call.ts";
import { sealJson } from "../sealing/sealed-serde.ts";

/** A consequence of a method outside of its object. It takes place when the method has returned. */
export interface Effect {
  /** The partition whose seal it needs. */
  readonly partition: string;
  readonly prepare: (seal: Seal) => Message;
}

/** An effect that is ready to be handed over. */
export interface Message {
  /** The sealed content; null: there is none. */
  readonly parameter: Uint8Array | null;
  readonly apply: (writer: RestateObjectContext) => void;
}

/** The bytes of a wake-up without a value. */
const nothing = new Uint8Array();

/** Prepares a wake-up of an execution. */
export function prepareWake(
  seal: Seal,
  { execution, name, value }: { readonly execution: string; readonly name: string; readonly value: Json },
): Message {
  const parameter = value === null ? nothing : sealJson(wakeSeal(seal, execution, name), value);
  const id = InvocationIdParser.fromString(execution);
  return {
    parameter,
    apply: (writer) => writer.invocation(id).signal(name, plain.binary).resolve(parameter),
  };
}
