import type { Serde } from "@restatedev/restate-sdk";
import { Json, KeyDestroyedError, TooLargeError, type Seal } from "#kernel";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The most that Restate passes on: its own limit is 32 MiB for a message, beyond which it would try for ever. */
const largestCall = 30_000_000;
/** The most that one value of an object's state may have, far below that limit: a call may bring a value and hand it on. */
export const maxValueBytes = 16_000_000;

/** A value as the bytes that Restate gets to see. Nothing and `null` are the same. */
export function sealed(seal: Seal, value: Json | undefined): Uint8Array {
  return seal.seal(encoder.encode(JSON.stringify(value ?? null)));
}

/** @throws SealBrokenError */
export function opened(seal: Seal, bytes: Uint8Array): Json {
  return Json.of(JSON.parse(decoder.decode(seal.open(bytes))));
}

/** Why these bytes cannot be the argument of a call, or null. */
export function tooLarge({ length }: Uint8Array): TooLargeError | null {
  if (length <= largestCall) return null;
  return new TooLargeError({ what: "the argument of a call", bytes: length, limit: largestCall });
}

/** Why these bytes cannot be a value of an object's state, or null. */
export function tooLargeForState(name: string, { length }: Uint8Array): TooLargeError | null {
  if (length <= maxValueBytes) return null;
  // Names of values hold ids; their first part says what the value is.
  const what = `the value ${name.split("/")[0]}`;
  return new TooLargeError({ what, bytes: length, limit: maxValueBytes });
}

/** Everything that Restate keeps for us passes here. */
export function sealedSerde(seal: Seal): Serde<Json> {
  return {
    contentType: "application/octet-stream",
    serialize: (value) => sealed(seal, value),
    deserialize: (bytes) => opened(seal, bytes),
  };
}

/** The state of an object: what is erased is not there. */
export function stateSerde(seal: Seal): Serde<Json> {
  return {
    ...sealedSerde(seal),
    deserialize: (bytes) => {
      try {
        return opened(seal, bytes);
      } catch (error) {
        if (error instanceof KeyDestroyedError) return null;
        throw error;
      }
    },
  };
}
