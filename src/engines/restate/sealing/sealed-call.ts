import { createHash } from "node:crypto";
import type { Json, ObjectAddress, Seal } from "#kernel";
import { sealJson } from "./sealed-serde.ts";

/** A call in flight: its sealed argument, and the seal that opens its reply or error. */
export interface SealedCall {
  readonly parameter: Uint8Array;
  readonly reply: Seal;
}

/** A call to a method of an object. */
export interface MethodCall {
  readonly to: ObjectAddress;
  readonly method: string;
  readonly argument: Json;
}

/** Seals the argument of a call. One seal covers both directions: the reply opens only for this argument. */
export function sealCall(seal: Seal, { to, method, argument }: MethodCall): SealedCall {
  const parameter = sealJson(argumentSeal(seal, to.type, method), argument);
  return { parameter, reply: replySeal(seal, parameter) };
}

/** Returns the seal of an argument. It opens only for that method. */
export const argumentSeal = (seal: Seal, type: string, method: string): Seal =>
  seal.boundTo(`call/${type}/${method}`);

/** Returns the seal of the reply, or of the error, to a sealed argument. */
export const replySeal = (seal: Seal, parameter: Uint8Array): Seal =>
  seal.boundTo(`reply/${createHash("sha256").update(parameter).digest("base64url")}`);

/** Returns the seal of an execution's launch. */
export const launchSeal = (seal: Seal): Seal => seal.boundTo("launch");

/** Returns the seal of a wake-up's value. It opens only for that wake-up of that execution. */
export const wakeSeal = (seal: Seal, execution: string, name: string): Seal =>
  seal.boundTo(`wake/${execution}/${name}`);

/** Returns the seal of an execution's value. It opens only for that execution. */
export const outputSeal = (seal: Seal, execution: string): Seal => seal.boundTo(`output/${execution}`);
