import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Bill, BillBook } from "./bill.ts";
import { deliver, pause } from "./delivery.ts";
import type { ProviderRequest } from "./provider-request.ts";
import { type ProviderScript, commandScript } from "./provider-script.ts";
import type { Fault, FaultKind } from "./fault.ts";
import { FlightLog, type InFlight } from "./in-flight.ts";
import type { PromptCacheOptions } from "./prompt-cache.ts";
import { Provider } from "./provider.ts";

/** Options of a fake provider. */
export interface FakeProviderOptions {
  /** The script of its answers. Default: {@link commandScript}. */
  readonly script?: ProviderScript | undefined;
  /** Seed of everything random. Values depend on the seed and the request, not on the order. Default: 1. */
  readonly seed?: number | undefined;
  /** Faults at random, for answers that bring none: `rate` is from 0 to 1. Default: none. */
  readonly faults?: { readonly rate: number; readonly kinds: readonly (Fault | FaultKind)[] } | undefined;
  /** Milliseconds from the bill to the first byte, in real time. Default: none. */
  readonly latency?: ((request: ProviderRequest) => number) | undefined;
  /** Tokens put around each message, at random from 0 to this. Default 15. */
  readonly hiddenTokensPerMessage?: number | undefined;
  /** Tokens put before a prompt with tools, at random from 0 to this. Default: 530 for Anthropic, none for OpenAI. */
  readonly toolPromptTokens?: number | undefined;
  /** Context window in tokens; a longer prompt is refused. Default: none. */
  readonly contextWindow?: number | undefined;
  /** Default: no cache. */
  readonly promptCache?: PromptCacheOptions | undefined;
  /** A file to which the bill is also written, one JSON object per line. */
  readonly billFile?: string | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Default: the time of this machine. */
  readonly now?: (() => number) | undefined;
}

/** A provider on this machine that keeps its own bill. */
export interface FakeProvider extends AsyncDisposable {
  /** For the option of the same name of an AI SDK provider: OpenAI, Anthropic and compatible ones share it. */
  readonly baseURL: string;
  readonly port: number;
  readonly bill: Bill;
  readonly inFlight: InFlight;
  /** Drops every connection. Calls in flight fail at once. */
  close(): Promise<void>;
}

/**
 * Starts a server that speaks OpenAI's chat completions and responses and Anthropic's messages, streamed or not, and OpenAI's
 * embeddings, well enough for the AI SDK's own providers. Once a request has arrived it is worked out and billed in full, even if its
 * client does not wait for the answer.
 */
export async function fakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const now = options.now ?? Date.now;
  const bill = new BillBook({ file: options.billFile });
  const inFlight = new FlightLog(now);
  const provider = new Provider({ ...options, script: options.script ?? commandScript(), now, bill });
  const service = { provider, inFlight, latency: options.latency };
  const server = createServer((request, response) => void serve(request, response, service));
  // If the server closed an idle connection during a client's write, it would look like an injected fault.
  server.keepAliveTimeout = 0;
  const port = await listen(server, options.port ?? 0);
  const close = async (): Promise<void> => {
    provider.close();
    await stop(server);
  };
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    port,
    bill,
    inFlight,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Service {
  readonly provider: Provider;
  readonly inFlight: FlightLog;
  readonly latency: FakeProviderOptions["latency"];
}

async function serve(request: IncomingMessage, response: ServerResponse, service: Service): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const body = await readBody(request).catch(() => null);
  if (body === null) return;
  // Clients that left are noticed before a new request counts as in flight.
  await new Promise((resolve) => setImmediate(resolve));
  const headers = plainHeaders(request);
  const land = service.inFlight.start(headers["x-reeve-run"] ?? null, headers["x-reeve-attempt"] ?? null);
  try {
    const outcome = await service.provider.handle({ endpoint: endpointOf(request), headers, body });
    if (!outcome) return;
    const ms = outcome.request ? (service.latency?.(outcome.request) ?? 0) : 0;
    if (ms > 0) await pause(ms, gone.signal);
    await deliver(response, outcome.reply, gone.signal);
  } finally {
    land();
  }
}

/** Reads the body. Fails if the client leaves before its end. */
async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  return body;
}

function endpointOf({ method, url }: IncomingMessage): string {
  return `${method} ${new URL(url ?? "/", "http://double").pathname}`;
}

function plainHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
