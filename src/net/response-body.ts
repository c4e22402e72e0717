import type { IncomingMessage } from "node:http";
import { pipeline, Readable, Transform, type Duplex } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { toError } from "#base";
import type { TransferGuard } from "./transfer-guard.ts";

/** Below this size a body may be compressed by any ratio. */
const ratioFreeBytes = 1_000_000;

/** The request that an answer belongs to. */
interface ResponseDeps {
  readonly url: URL;
  readonly method: string;
  readonly redirected: boolean;
  readonly guard: TransferGuard;
  readonly limits: { readonly maxBytes: number; readonly maxCompressionRatio: number };
}

/** Converts a response of `node:http` into a `Response` whose body is counted while it is read. */
export function toResponse(message: IncomingMessage, deps: ResponseDeps): Response {
  const { url, method, redirected, guard } = deps;
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (let index = 0; index < message.rawHeaders.length; index += 2)
    headers.append(message.rawHeaders[index] ?? "", message.rawHeaders[index + 1] ?? "");
  if (status < 200 || status > 599) {
    message.destroy();
    throw new TypeError(`${guard.host} answered with status ${status}`);
  }
  const hasBody = method !== "HEAD" && ![204, 205, 304].includes(status);
  if (!hasBody) {
    message.resume();
    guard.end();
  }
  const body = hasBody ? toBody(message, headers, deps) : null;
  const response = new Response(body, { status, statusText: message.statusMessage ?? "", headers });
  Object.defineProperty(response, "url", { value: url.href });
  Object.defineProperty(response, "redirected", { value: redirected });
  return response;
}

function toBody(message: IncomingMessage, headers: Headers, deps: ResponseDeps): ReadableStream<Uint8Array> {
  const { guard, limits } = deps;
  const declared = Number(headers.get("content-length") ?? 0);
  if (declared > limits.maxBytes) {
    message.destroy();
    throw guard.fail("bytes", `its body of ${declared} bytes is larger than ${limits.maxBytes}`);
  }
  const decoder = toDecoder(headers.get("content-encoding"));
  if (decoder) {
    // The body that the caller reads is decompressed, so it does not have the declared length.
    headers.delete("content-encoding");
    headers.delete("content-length");
  }
  const counter = new BodyCounter(deps);
  const finish = (error: Error | null): void => {
    if (error) guard.abort(error);
    guard.end();
  };
  const last = decoder ? counter.createDecodedStage() : counter.plain();
  if (decoder) pipeline(message, counter.createArrivalStage(), decoder, last, finish);
  else pipeline(message, last, finish);
  guard.signal.addEventListener("abort", () => last.destroy(toError(guard.signal.reason)), { once: true });
  return Readable.toWeb(last);
}

/** Counts the bytes of a body, before and after decompression. */
class BodyCounter {
  readonly #deps: ResponseDeps;
  #arrived = 0;
  #decoded = 0;

  constructor(deps: ResponseDeps) {
    this.#deps = deps;
  }

  createArrivalStage(): Transform {
    return this.#stage((size) => {
      this.#arrived += size;
      this.#deps.guard.touch();
    });
  }

  createDecodedStage(): Transform {
    return this.#stage((size) => {
      this.#decoded += size;
      this.#check();
    });
  }

  plain(): Transform {
    return this.#stage((size) => {
      this.#arrived += size;
      this.#decoded += size;
      this.#deps.guard.touch();
      this.#check();
    });
  }

  #check(): void {
    const { guard, limits } = this.#deps;
    if (this.#decoded > limits.maxBytes)
      throw guard.fail("bytes", `its body is larger than ${limits.maxBytes} bytes`);
    const { maxCompressionRatio: ratio } = limits;
    if (this.#decoded > ratioFreeBytes && this.#decoded > this.#arrived * ratio)
      throw guard.fail("compression", `its body is compressed more than ${ratio} times`);
  }

  #stage(count: (size: number) => void): Transform {
    return new Transform({
      transform: (chunk: Buffer, _, done) => {
        try {
          count(chunk.length);
        } catch (error) {
          return done(toError(error));
        }
        done(null, chunk);
      },
    });
  }
}

/** @throws TypeError on an encoding that is not known, or more than one: decompression would multiply. */
function toDecoder(encoding: string | null): Duplex | null {
  switch (encoding?.trim().toLowerCase() ?? "") {
    case "":
    case "identity":
      return null;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new TypeError(
        `content-encoding ${JSON.stringify(encoding)} is not supported (gzip, deflate or br)`,
      );
  }
}
