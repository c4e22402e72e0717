import { createHash } from "node:crypto";
import type { Json, ObjectAddress, Seal } from "#kernel";
import { sealed } from "./sealed-serde.ts";

/** A call on its way: its sealed argument, and the seal that opens its reply or error. */
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

/** Seals the argument of a call. One seal covers both ways: the reply opens for this argument only. */
export function sealCall(seal: Seal, { to, method, argument }: MethodCall): SealedCall {
  const parameter = sealed(argumentSeal(seal, to.type, method), argument);
  return { parameter, reply: replySeal(seal, parameter) };
}

/** The seal of an argument: it opens for that method only. */
export const argumentSeal = (seal: Seal, type: string, method: string): Seal =>
  seal.boundTo(`call/${type}/${method}`);

/** The seal of the reply, or of the error, to a sealed argument. */
export const replySeal = (seal: Seal, parameter: Uint8Array): Seal =>
  seal.boundTo(`reply/${createHash("sha256").update(parameter).digest("base64url")}`);

/** The seal of what an execution is launched with. */
export const launchSeal = (seal: Seal): Seal => seal.boundTo("launch");

/** The seal of the value of a wake-up: it opens for that wake-up of that execution only. */
export const wakeSeal = (seal: Seal, execution: string, name: string): Seal =>
  seal.boundTo(`wake/${execution}/${name}`);

/** The seal of what an execution returns: it opens for that execution only. */
export const outputSeal = (seal: Seal, execution: string): Seal => seal.boundTo(`output/${execution}`);
