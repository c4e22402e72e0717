import type { JsonObject } from "#kernel";
import type { GovernedGrant } from "./governor.ts";
import type { Wire } from "./wires.ts";

/** The call that a response answers. */
interface AnsweredRequest {
  readonly wire: Wire;
  readonly granted: GovernedGrant;
  readonly signal: AbortSignal | undefined;
}

/** The same response, which settles its call: at once, or where it is a stream at the end of that. */
export async function settleResponse(response: Response, call: AnsweredRequest): Promise<Response> {
  const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
  if (response.ok && isStream && response.body) return copy(response, watchUsage(response.body, call));
  const text = await response.text();
  if (response.ok) call.granted.settle(call.wire.usage(call.wire.note(parseResponseText(text), {})));
  else {
    const { status: statusCode, headers: responseHeaders, url } = response;
    call.granted.fail({ message: response.statusText, statusCode, responseHeaders, responseBody: text, url });
  }
  return copy(response, text);
}

function copy({ status, statusText, headers }: Response, body: string | ReadableStream): Response {
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : body, { status, statusText, headers });
}

/** Reads usage from every event of a stream. A stream that ends before its last event leaves the call in doubt. */
function watchUsage(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { wire, granted, signal }: AnsweredRequest,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const decoder = new TextDecoder();
  let rest = "";
  let seen: JsonObject = {};
  const lose = (): void => granted.settle(null);
  const stop = (): void => {
    signal?.removeEventListener("abort", lose);
    lose();
  };
  signal?.addEventListener("abort", lose, { once: true });
  return body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.startsWith("data:")) continue;
          const event = parseResponseText(line.slice(5));
          seen = wire.note(event, seen);
          if (wire.isLast(event)) granted.settle(wire.usage(seen));
        }
        controller.enqueue(chunk);
      },
      flush: stop,
      cancel: stop,
    }),
  );
}

function parseResponseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}
