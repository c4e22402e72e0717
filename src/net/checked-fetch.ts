/**
 * A `fetch` that requests only what an address policy allows, with limits.
 *
 * 1. A request connects only to addresses that the policy has checked: `lookup` of the socket answers from the check.
 * 2. Each redirect is a new check. Headers with credentials are dropped when the origin changes.
 * 3. Bytes are counted while they arrive, before and after decompression. A limit ends the transfer.
 *
 * Each request has a connection of its own: a pooled one may come from a caller with another policy. Proxies of the
 * environment are not used, since a proxy would resolve the name again.
 */
import {
  Agent as HttpAgent,
  request as requestHttp,
  type ClientRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { rejectOnAbort, systemClock } from "#base";
import type { Clock } from "#kernel";
import type { AddressPolicy, CheckedTarget } from "./address-policy.ts";
import { AddressRefusedError } from "./net-errors.ts";
import { toResponse } from "./response-body.ts";
import { TransferGuard } from "./transfer-guard.ts";

/** Limits of a transfer. `Infinity` lifts one. */
export interface TransferLimits {
  /** Largest body, decompressed. Default: 10 MB. */
  readonly maxBytes: number;
  /** Longest duration of a request with its redirects and its body. Default: 30 s. */
  readonly timeoutMs: number;
  /** Longest time without a byte, connecting included. A caller that does not read the body counts as well. Default: 10 s. */
  readonly idleTimeoutMs: number;
  /** Redirects that are followed. Default: 5. */
  readonly maxRedirects: number;
  /** Largest decompressed size, as a multiple of the compressed one. Applies above 1 MB. Default: 100. */
  readonly maxCompressionRatio: number;
}

/** The policy and the limits of a checked fetch. */
export interface CheckedFetchOptions extends Partial<TransferLimits> {
  readonly policy: AddressPolicy;
  /** Headers that are dropped, with `authorization`, `cookie` and `proxy-authorization`, when the origin changes. Default: none. */
  readonly credentialHeaders?: readonly string[] | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** Requests a URL, as the `fetch` of the platform does. The body of the request is read into memory first. */
export type CheckedFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A request that can be sent again to another place. */
interface OutgoingRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | null;
}

/** Set by the connection, or able to make a server read the request as one for another host. */
const ownHeaders = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
  "te",
  "trailer",
];

/** Creates a fetch that obeys a policy. @throws AddressRefusedError and FetchLimitError from its calls. */
export function createCheckedFetch(options: CheckedFetchOptions): CheckedFetch {
  const { policy, clock = systemClock } = options;
  const limits: TransferLimits = {
    maxBytes: options.maxBytes ?? 10_000_000,
    timeoutMs: options.timeoutMs ?? 30_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 10_000,
    maxRedirects: options.maxRedirects ?? 5,
    maxCompressionRatio: options.maxCompressionRatio ?? 100,
  };
  const credentials = [
    "authorization",
    "cookie",
    "proxy-authorization",
    ...(options.credentialHeaders ?? []),
  ];
  return async (input, init) => {
    const url = policy.checkUrl(input instanceof Request ? input.url : input);
    const request = new Request(input instanceof Request ? input : url, init);
    request.signal.throwIfAborted();
    const guard = new TransferGuard({ host: url.hostname, limits, clock, signal: request.signal });
    try {
      const outgoing = await toOutgoing(request);
      return await followRedirects(
        { policy, limits, credentials, guard, mode: request.redirect },
        url,
        outgoing,
      );
    } catch (error) {
      guard.abort(error);
      throw guard.signal.reason;
    }
  };
}

/** The parts that all hops of one call share. */
interface CallDeps {
  readonly policy: AddressPolicy;
  readonly limits: TransferLimits;
  readonly credentials: readonly string[];
  readonly guard: TransferGuard;
  readonly mode: Request["redirect"];
}

async function followRedirects(deps: CallDeps, first: URL, outgoing: OutgoingRequest): Promise<Response> {
  const { policy, guard, mode, limits } = deps;
  let url = first;
  let request = outgoing;
  for (let hop = 0; ; hop += 1) {
    const target = await rejectOnAbort(policy.resolve(url), guard.signal);
    const message = await sendRequest(target, request, guard);
    const location = isRedirect(message) ? message.headers.location : undefined;
    if (location === undefined || mode === "manual")
      return toResponse(message, { url, method: request.method, redirected: hop > 0, guard, limits });
    message.destroy();
    if (mode === "error" || hop >= limits.maxRedirects) {
      const detail = mode === "error" ? "it redirects" : `more than ${limits.maxRedirects} redirects`;
      throw new AddressRefusedError({ host: target.host, rule: "redirects", detail });
    }
    const next = policy.checkUrl(URL.canParse(location, url.href) ? new URL(location, url) : location);
    request = redirectRequest(
      request,
      message.statusCode,
      next.origin === url.origin ? [] : deps.credentials,
    );
    url = next;
  }
}

/** Sends one request to a checked target. Resolves with the head of the answer. */
function sendRequest(
  { url, host, addresses }: CheckedTarget,
  { method, headers, body }: OutgoingRequest,
  guard: TransferGuard,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: Object.fromEntries(headers),
      lookup: answerLookup(addresses),
      signal: guard.signal,
      hostname: host,
    };
    const call: ClientRequest =
      url.protocol === "https:"
        ? requestHttps(url, { ...options, agent: new HttpsAgent({ keepAlive: false }) })
        : requestHttp(url, { ...options, agent: new HttpAgent({ keepAlive: false }) });
    call.once("response", resolve);
    call.once("error", reject);
    // Without a listener, the socket of an upgrade or of an informational response would stay open.
    call.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new TypeError(`${host} answered with an upgrade that was not asked for`));
    });
    call.on("socket", (socket) => socket.once("connect", () => guard.touch()));
    guard.touch();
    call.end(body);
  });
}

/** Answers the lookup of a socket with addresses that were checked. Nothing is resolved. */
function answerLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll, family }, done) => {
    const usable = family === 4 || family === 6 ? all.filter((entry) => entry.family === family) : all;
    const [first] = usable;
    if (!first) return done(new Error("no checked address of this family"), "", 0);
    if (wantsAll) done(null, usable);
    else done(null, first.address, first.family);
  };
}

function isRedirect({ statusCode = 0 }: IncomingMessage): boolean {
  return [301, 302, 303, 307, 308].includes(statusCode);
}

/** Returns the request for the next place: as browsers do, a POST becomes a GET unless the status forbids it. */
function redirectRequest(
  request: OutgoingRequest,
  status: number | undefined,
  dropped: readonly string[],
): OutgoingRequest {
  const headers = new Headers(request.headers);
  for (const name of dropped) headers.delete(name);
  const { method } = request;
  const becomesGet =
    (status === 303 && method !== "HEAD") || ((status === 301 || status === 302) && method === "POST");
  if (!becomesGet) return { ...request, headers };
  for (const name of ["content-type", "content-encoding", "content-language"]) headers.delete(name);
  return { method: "GET", headers, body: null };
}

async function toOutgoing(request: Request): Promise<OutgoingRequest> {
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : null;
  const headers = new Headers(request.headers);
  for (const name of ownHeaders) headers.delete(name);
  headers.set("connection", "close");
  if (!headers.has("accept")) headers.set("accept", "*/*");
  if (!headers.has("accept-encoding")) headers.set("accept-encoding", "gzip, deflate, br");
  if (!headers.has("user-agent")) headers.set("user-agent", "reeve");
  return { method: request.method, headers, body };
}
