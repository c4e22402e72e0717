import type { Serde } from "@restatedev/restate-sdk";
import { Json, KeyDestroyedError, TooLargeError, type Seal } from "#kernel";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Maximum bytes of a call. Restate's own limit is 32 MiB for a message, beyond which it would retry forever. */
const largestCall = 30_000_000;
/**
 * Maximum bytes of one value of an object's state. Far below that limit, because a call may receive a value and pass it
 * on.
 */
export const maxValueBytes = 16_000_000;

/** Returns a value as sealed bytes for Restate. Undefined counts as `null`. */
export function sealJson(seal: Seal, value: Json | undefined): Uint8Array {
  return seal.seal(encoder.encode(JSON.stringify(value ?? null)));
}

/** Opens sealed bytes. @throws SealBrokenError */
export function openJson(seal: Seal, bytes: Uint8Array): Json {
  return Json.of(JSON.parse(decoder.decode(seal.open(bytes))));
}

/** Returns the error for bytes that are too large for a call. Null if they are not. */
export function findTooLarge({ length }: Uint8Array): TooLargeError | null {
  if (length <= largestCall) return null;
  return new TooLargeError({ what: "the argument of a call", bytes: length, limit: largestCall });
}

/** Returns the error for bytes that are too large for a value of the state. Null if they are not. */
export function tooLargeForState(name: string, { length }: Uint8Array): TooLargeError | null {
  if (length <= maxValueBytes) return null;
  // Names of values hold ids; their first part is the kind of the value.
  const what = `the value ${name.split("/")[0]}`;
  return new TooLargeError({ what, bytes: length, limit: maxValueBytes });
}

/** Returns the serde for all data that Restate keeps for us. */
export function sealedSerde(seal: Seal): Serde<Json> {
  return {
    contentType: "application/octet-stream",
    serialize: (value) => sealJson(seal, value),
    deserialize: (bytes) => openJson(seal, bytes),
  };
}

/** Returns the serde of an object's state. Erased values read as absent. */
export function stateSerde(seal: Seal): Serde<Json> {
  return {
    ...sealedSerde(seal),
    deserialize: (bytes) => {
      try {
        return openJson(seal, bytes);
      } catch (error) {
        if (error instanceof KeyDestroyedError) return null;
        throw error;
      }
    },
  };
}
