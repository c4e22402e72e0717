import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { ReadableStream } from "node:stream/web";
import { checkDuration } from "#kernel";
import { type ServerOptions, serverApp } from "./app.ts";

/** The address of the server, and its settings. Default of `ui`: on a loopback address, the dashboard; else none. */
export interface ListenOptions extends Omit<ServerOptions, "auth"> {
  /** Default none, which only a loopback address may have. */
  readonly auth?: ServerOptions["auth"];
  /** Default 7433. 0: a free one. */
  readonly port?: number;
  /** Default `127.0.0.1`. */
  readonly hostname?: string;
  /** Seconds until the headers of a request must have arrived. Default: 10. */
  readonly headersTimeoutS?: number;
  /** Seconds until a whole request must have arrived. Default: 30. */
  readonly requestTimeoutS?: number;
  /** Default 2,000. */
  readonly maxConnections?: number;
}

/** A server that listens. */
export interface Listener extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

const defaultPort = 7433;
const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);

/** Starts a server on Node. @throws TypeError if other machines could connect and there is no authentication. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { hostname = "127.0.0.1", port = defaultPort, auth = "none" } = options;
  if (auth === "none" && !loopback.has(hostname))
    throw new TypeError(
      `hostname ${hostname} can be reached from other machines, so authentication is required: listen({ auth: apiKeys(...) })`,
    );
  if (!loopback.has(hostname) && (options.hosts ?? []).length === 0)
    throw new TypeError(
      `hostname ${hostname} can be reached from other machines, so its host names are required: listen({ hosts: ["api.example.com"] })`,
    );
  if (options.dev && !loopback.has(hostname))
    throw new TypeError(
      `hostname ${hostname} can be reached from other machines: listen({ dev }) is for this machine only`,
    );
  const app = serverApp({ ui: loopback.has(hostname), ...options, auth });
  const server = createServer(
    { connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 },
    (request, response) => void answerNodeRequest(async (given) => app.fetch(given), request, response),
  );
  server.headersTimeout = checkDuration("headersTimeoutS", options.headersTimeoutS ?? 10) * 1000;
  server.requestTimeout = checkDuration("requestTimeoutS", options.requestTimeoutS ?? 30) * 1000;
  server.maxConnections = options.maxConnections ?? 2_000;
  server.listen(port, hostname);
  await once(server, "listening");
  return toListener(server, hostname);
}

function toListener(server: Server, hostname: string): Listener {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    port,
    url: `http://${name}:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answerNodeRequest(
  fetch: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  try {
    const response = await fetch(requestOf(incoming));
    // The body of a refused request is not read, so its connection cannot be reused.
    outgoing.shouldKeepAlive &&= incoming.complete;
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (isStream) await writeBody(response.body, outgoing);
    // Sends headers, body and end in one write.
    else outgoing.end(Buffer.from(await response.arrayBuffer()));
    if (!incoming.complete) incoming.socket.destroySoon();
  } catch {
    outgoing.destroy();
  }
}

function requestOf(incoming: IncomingMessage): Request {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const headers = new Headers();
  for (let n = 0; n < rawHeaders.length; n += 2) headers.append(rawHeaders[n] ?? "", rawHeaders[n + 1] ?? "");
  const hasBody = method !== "GET" && method !== "HEAD";
  // Only the path matters here: the gate checks the host name.
  const address = new URL(`http://localhost${url.startsWith("/") ? url : "/"}`);
  return new Request(address, {
    method,
    headers,
    // Read when it is asked for, which a request that is refused never is.
    ...(hasBody && {
      body: ReadableStream.from(incoming.iterator({ destroyOnReturn: false })),
      duplex: "half",
    }),
  });
}

/** Writes as fast as the client reads. Cancels the source when the client disconnects. */
async function writeBody(body: ReadableStream<Uint8Array> | null, outgoing: ServerResponse): Promise<void> {
  if (!body) return void outgoing.end();
  // The client disconnected before the response.
  if (outgoing.destroyed) return body.cancel();
  const reader = body.getReader();
  const gone = new AbortController();
  const leave = (): void => {
    gone.abort();
    reader.cancel().catch(() => undefined);
  };
  outgoing.once("close", leave);
  // When the source fails, the connection is closed, because the client does not read it.
  reader.closed.catch(() => outgoing.destroy());
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || gone.signal.aborted) break;
      if (!outgoing.write(value)) await once(outgoing, "drain", { signal: gone.signal });
    }
    outgoing.end();
  } finally {
    outgoing.off("close", leave);
  }
}
