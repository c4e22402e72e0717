import type { UnderlyingSource } from "node:stream/web";
import type { Clock } from "#kernel";

/** The media type of a stream: server-sent events, or JSON lines. */
export type StreamType = "text/event-stream" | "application/x-ndjson";

/** Heartbeat and timeout of a stream. */
export interface ByteStreamOptions {
  /** Only server-sent events have comments, which serve as heartbeat. */
  readonly type: StreamType;
  readonly clock: Clock;
  readonly writeTimeoutMs: number;
  readonly heartbeatS: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Once, however it ended. */
  readonly onClose: () => void;
}

/** Formats one server-sent event. Without an id, it does not move the position at which a reader resumes. */
export function frame(
  data: string,
  { id, event }: { readonly id?: number | string; readonly event?: string } = {},
): string {
  const head = `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}`;
  return `${head}data: ${data}\n\n`;
}

/**
 * Creates a response that is sent as the client reads it. Nothing is buffered ahead. A client whose connection remains
 * full is disconnected; it can reconnect and resume a stream of events.
 */
export function byteStream(frames: AsyncGenerator<string, void>, options: ByteStreamOptions): Response {
  const body = new ReadableStream<Uint8Array>(new FrameSource(frames, options), { highWaterMark: 1 });
  return new Response(body, {
    headers: {
      "content-type": `${options.type}; charset=utf-8`,
      "x-accel-buffering": "no",
      ...options.headers,
    },
  });
}

const encoder = new TextEncoder();

class FrameSource implements UnderlyingSource<Uint8Array> {
  readonly #frames: AsyncGenerator<string, void>;
  readonly #options: ByteStreamOptions;
  #next: Promise<IteratorResult<string, void>> | null = null;
  #unstall = (): void => undefined;
  #isClosed = false;

  constructor(frames: AsyncGenerator<string, void>, options: ByteStreamOptions) {
    this.#frames = frames;
    this.#options = options;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    // Headers go out with the first bytes.
    if (this.#options.type === "text/event-stream") controller.enqueue(encoder.encode(": hello\n\n"));
    this.#watchStall(controller);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.#unstall();
    try {
      const found = await this.#nextOrBeat();
      if (this.#isClosed) return;
      if (found !== "beat" && found.done) {
        this.#close();
        controller.close();
        return;
      }
      controller.enqueue(encoder.encode(found === "beat" ? ": beat\n\n" : (found.value ?? "")));
      this.#watchStall(controller);
    } catch (error) {
      if (this.#isClosed) return;
      this.#close();
      controller.error(error);
    }
  }

  cancel(): void {
    this.#close();
  }

  /** The pending read continues during heartbeats. */
  async #nextOrBeat(): Promise<IteratorResult<string, void> | "beat"> {
    const { type, clock, heartbeatS } = this.#options;
    if (type !== "text/event-stream") return this.#frames.next();
    this.#next ??= this.#frames.next();
    const beat = Promise.withResolvers<"beat">();
    const disarm = clock.callAt(clock.now() + heartbeatS * 1000, () => beat.resolve("beat"), {
      bestEffort: true,
    });
    try {
      const found = await Promise.race([this.#next, beat.promise]);
      if (found !== "beat") this.#next = null;
      return found;
    } finally {
      disarm();
    }
  }

  /** Fails the stream if the client does not read for too long. */
  #watchStall(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { clock, writeTimeoutMs } = this.#options;
    this.#unstall = clock.callAt(
      clock.now() + writeTimeoutMs,
      () => {
        this.#close();
        controller.error(new Error("the client reads too slowly"));
      },
      { bestEffort: true },
    );
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unstall();
    this.#options.onClose();
    this.#frames.return().catch(() => undefined);
  }
}
