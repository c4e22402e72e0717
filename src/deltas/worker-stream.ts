import { type ClientRequest, type IncomingMessage, request as open } from "node:http";
import { DeltasCutError, type WorkerRecord, type Seal } from "#kernel";
import { toError } from "#base";
import type { DeltaQueue } from "./delta-queue.ts";
import { FrameReader } from "./frames.ts";
import { proofOf } from "./proof.ts";

/** Maximum silence of a worker. A live worker sends a heartbeat every ten seconds. */
const silenceMs = 30_000;

/** A subscription request to one worker. */
export interface Question {
  readonly worker: WorkerRecord;
  readonly key: string;
  readonly sealer: Seal;
  readonly at: number;
}

/** The pieces from one worker, until it ends. */
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
    // A dead worker is not an error: its runs continue on other workers, and are streamed from there.
    this.#request.on("error", () => this.#request.destroy());
    this.#request.on("response", (response) => this.#receive(response));
    this.#request.flushHeaders();
  }

  /** Requests the remaining pieces. */
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
