import { Json, type Seal } from "#kernel";
import type { RunDelta } from "./run-delta.ts";

// On the wire a frame is its length, four bytes, and the sealed bytes. Two lengths are special.
const lengthBytes = 4;
const cutLength = 0xffff_ffff;
const longestFrame = 2_000_000;

/** A heartbeat: the worker is alive. */
export const beat: Uint8Array = new Uint8Array(lengthBytes);
/** The last frame for a subscriber that is too slow. */
export const cut: Uint8Array = Uint8Array.of(255, 255, 255, 255);

/** Returns pieces as a sealed frame: only holders of the tree's key can read it. */
export function frameOf(sealer: Seal, pieces: readonly RunDelta[]): Uint8Array {
  const sealed = sealer.seal(Buffer.from(JSON.stringify(pieces)));
  const frame = Buffer.alloc(lengthBytes + sealed.length);
  frame.writeUInt32BE(sealed.length);
  frame.set(sealed, lengthBytes);
  return frame;
}

/** Reads frames from bytes in chunks of any size. */
export class FrameReader {
  readonly #sealer: Seal;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(sealer: Seal) {
    this.#sealer = sealer;
  }

  /** Yields the pieces in these bytes, in order. @throws SealBrokenError; RangeError on an invalid frame. */
  *read(chunk: Uint8Array): Iterable<RunDelta | "cut"> {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= lengthBytes) {
      const length = this.#bytes.readUInt32BE();
      if (length === cutLength) return yield "cut";
      if (length > longestFrame) throw new RangeError(`a frame of ${length} bytes`);
      const end = lengthBytes + length;
      if (this.#bytes.length < end) return;
      const sealed = this.#bytes.subarray(lengthBytes, end);
      this.#bytes = this.#bytes.subarray(end);
      if (length > 0) yield* this.#open(sealed);
    }
  }

  #open(sealed: Uint8Array): readonly RunDelta[] {
    return Json.as(JSON.parse(Buffer.from(this.#sealer.open(sealed)).toString("utf8")));
  }
}
