import { type ClientRequest, type IncomingMessage, request as open } from "node:http";
import { DeltasCutError, type WorkerRecord, type Seal } from "#kernel";
import { toError } from "#base";
import type { DeltaQueue } from "./delta-queue.ts";
import { FrameReader } from "./frames.ts";
import { proofOf } from "./proof.ts";

/** A worker shows every ten seconds that it lives: one that is silent for so long does not. */
const silenceMs = 30_000;

/** What is asked of one worker. */
export interface Question {
  readonly worker: WorkerRecord;
  readonly key: string;
  readonly sealer: Seal;
  readonly at: number;
}

/** The pieces that come from one worker, for as long as it gives any. */
export class WorkerStream {
  readonly #request: ClientRequest;
  readonly #queue: DeltaQueue;
  readonly #sealer: Seal;
  /** Resolves when nothing more will come. */
  readonly closed: Promise<void>;

  constructor({ worker, key, sealer, at }: Question, queue: DeltaQueue) {
    const authorization = proofOf(sealer, { worker: worker.id, at });
    this.#queue = queue;
    this.#sealer = sealer;
    this.#request = open(`${worker.url}?tree=${encodeURIComponent(key)}`, {
      method: "POST",
      agent: false,
      headers: { authorization },
      timeout: silenceMs,
    });
    this.closed = new Promise((resolve) => this.#request.once("close", resolve));
    this.#request.on("timeout", () => this.#request.destroy());
    // A worker that is gone is no error: its runs go on elsewhere, and are heard from there.
    this.#request.on("error", () => this.#request.destroy());
    this.#request.on("response", (response) => this.#receive(response));
    this.#request.flushHeaders();
  }

  /** Asks for the rest. */
  finish(): void {
    this.#request.end();
  }

  destroy(): void {
    this.#request.destroy();
  }

  #receive(response: IncomingMessage): void {
    response.on("error", () => this.#request.destroy());
    const { statusCode } = response;
    if (statusCode === 401) return this.#queue.fail(new DeltasCutError({ reason: "refused" }));
    if (statusCode === 503) return this.#queue.fail(new DeltasCutError({ reason: "too-many" }));
    if (statusCode !== 200) return this.destroy();
    const frames = new FrameReader(this.#sealer);
    response.on("data", (chunk: Buffer) => {
      try {
        for (const said of frames.read(chunk))
          if (said === "cut") this.#queue.fail(new DeltasCutError({ reason: "too-slow" }));
          else this.#queue.push(said);
      } catch (error) {
        this.#queue.fail(toError(error));
      }
    });
    response.on("end", () => this.destroy());
  }
}
