import type { ServerResponse } from "node:http";
import type { Clock, Seal } from "#kernel";
import type { DeltaHub } from "./delta-hub.ts";
import { beat, cut, frameOf } from "./frames.ts";
import { Pieces, type RunDelta } from "./run-delta.ts";

/** Pieces wait this long for others, to travel with them. */
const frameMs = 50;
/** A frame that is so large does not wait: so none comes near what may wait for a reader. */
const largestFrame = 64_000;
/** Bytes that may wait for one reader, beside what the system itself buffers. */
const mostBehind = 1_000_000;
/** How long a reader that was cut may take to hear of it. */
const cutGraceMs = 30_000;

interface Reader {
  readonly response: ServerResponse;
  /** It wants what there is, and then the end. */
  isLeaving: boolean;
}

/** Those who watch one tree from elsewhere: they share its frames, each sealed once. */
export class TreeReaders {
  readonly #hub: DeltaHub;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #readers = new Set<Reader>();
  readonly #unwatch: () => void;
  #sealer: Seal;
  #pending = new Pieces();
  #disarm: (() => void) | null = null;

  constructor(key: string, sealer: Seal, { hub, clock }: { readonly hub: DeltaHub; readonly clock: Clock }) {
    this.#hub = hub;
    this.#key = key;
    this.#sealer = sealer;
    this.#clock = clock;
    this.#unwatch = hub.watch(key, (delta) => this.#take(delta));
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** Tells it every answer that is open from its beginning, then what comes. Returns how to let it go. */
  add(response: ServerResponse): { readonly leave: () => void; readonly gone: () => void } {
    this.#flush();
    const reader: Reader = { response, isLeaving: false };
    this.#readers.add(reader);
    for (const piece of this.#hub.soFar(this.#key)) {
      // The beginnings of many long answers must not be what makes it slow.
      if (response.writableLength > mostBehind / 2) break;
      this.#write(reader, frameOf(this.#sealer, [piece]));
    }
    const leave = (): void => {
      reader.isLeaving = true;
      if (this.#pending.size === 0) this.#dismiss(reader);
    };
    return { leave, gone: () => void this.#readers.delete(reader) };
  }

  /** Shows that the worker lives; with the key as it is now. */
  beat(sealer: Seal): void {
    this.#sealer = sealer;
    for (const reader of this.#readers) this.#write(reader, beat);
  }

  close(): void {
    this.#unwatch();
    this.#disarm?.();
    for (const { response } of this.#readers) response.destroy();
  }

  #take(delta: RunDelta): void {
    this.#pending.add(delta);
    if (this.#pending.size > largestFrame) return this.#flush();
    this.#disarm ??= this.#clock.callAt(this.#clock.now() + frameMs, () => this.#flush());
  }

  #flush(): void {
    this.#disarm?.();
    this.#disarm = null;
    if (this.#pending.size === 0) return;
    const frame = frameOf(this.#sealer, this.#pending.all);
    this.#pending = new Pieces();
    for (const reader of this.#readers) {
      this.#write(reader, frame);
      if (reader.isLeaving) this.#dismiss(reader);
    }
  }

  /** Node buffers without end what the socket does not take: the bound is ours to keep. */
  #write(reader: Reader, frame: Uint8Array): void {
    const { response } = reader;
    if (response.writableLength + frame.length <= mostBehind) return void response.write(frame);
    response.write(cut);
    this.#dismiss(reader);
  }

  #dismiss(reader: Reader): void {
    const { response } = reader;
    this.#readers.delete(reader);
    response.end();
    const disarm = this.#clock.callAt(this.#clock.now() + cutGraceMs, () => response.destroy());
    response.once("close", disarm);
  }
}
