import type { ServerResponse } from "node:http";
import type { Clock, Seal } from "#kernel";
import type { DeltaHub } from "./delta-hub.ts";
import { beat, cut, frameOf } from "./frames.ts";
import { Pieces, type RunDelta } from "./run-delta.ts";

/** Maximum delay of a piece, so that several travel in one frame. */
const frameMs = 50;
/** Maximum size of a frame. A frame of this size does not wait, so none comes near the subscriber's limit. */
const largestFrame = 64_000;
/** Maximum bytes that may wait for one subscriber, in addition to the system's buffers. */
const mostBehind = 1_000_000;
/** Time for a subscriber to receive the cut-off frame. */
const cutGraceMs = 30_000;

interface Reader {
  readonly response: ServerResponse;
  /** Whether it gets only the waiting pieces, and then the end. */
  isLeaving: boolean;
}

/** The remote subscribers of one tree. They share its frames, so each is sealed once. */
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

  /**
   * Adds a subscriber. Sends every open answer from its beginning, then new pieces. Returns functions that remove it.
   */
  add(response: ServerResponse): { readonly leave: () => void; readonly remove: () => void } {
    this.#flush();
    const reader: Reader = { response, isLeaving: false };
    this.#readers.add(reader);
    for (const piece of this.#hub.soFar(this.#key)) {
      // The beginnings of many long answers must not push it over the limit.
      if (response.writableLength > mostBehind / 2) break;
      this.#write(reader, frameOf(this.#sealer, [piece]));
    }
    const leave = (): void => {
      reader.isLeaving = true;
      if (this.#pending.size === 0) this.#dismiss(reader);
    };
    return { leave, remove: () => void this.#readers.delete(reader) };
  }

  /** Sends a heartbeat, with the present key. */
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

  /** Writes a frame. Node buffers without bound what the socket does not take, so the bound is enforced here. */
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
