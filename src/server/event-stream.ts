import type { UnderlyingSource } from "node:stream/web";
import type { Clock } from "#kernel";

/** The media type of a stream: server-sent events, or JSON lines. */
export type StreamType = "text/event-stream" | "application/x-ndjson";

/** How a stream is kept alive, and when it is given up. */
export interface ByteStreamOptions {
  /** Only server-sent events have comments, which keep a quiet stream alive. */
  readonly type: StreamType;
  readonly clock: Clock;
  readonly stallS: number;
  readonly heartbeatS: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Once, however it ended. */
  readonly onClose: () => void;
}

/** One message of a stream of server-sent events. Without an id it changes nothing about where a reader resumes. */
export function frame(
  data: string,
  { id, event }: { readonly id?: number | string; readonly event?: string } = {},
): string {
  const head = `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}`;
  return `${head}data: ${data}\n\n`;
}

/**
 * A response that is sent as it is read. Nothing is read ahead: what waits, waits where it came from. A reader whose
 * connection stays full is cut; it can come again, and resume where there are events.
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

  /** What was asked for stays asked for while the heart beats. */
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

  /** Nobody takes what lies ready. */
  #watchStall(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { clock, stallS } = this.#options;
    this.#unstall = clock.callAt(
      clock.now() + stallS * 1000,
      () => {
        this.#close();
        controller.error(new Error("the subscriber is too slow"));
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
