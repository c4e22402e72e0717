import type { Clock } from "#kernel";
import { findExcess, hasInexactNumber } from "#base";
import { loopbackPrincipal, mayDo, mayReadEntries, type Auth, type Principal, type Scope } from "./auth.ts";
import { type BrowserSessions, checkPage } from "./browser-sessions.ts";
import { HttpError } from "./http-error.ts";
import type { Limits } from "./limits.ts";
import { Strangers } from "./strangers.ts";
import { namesTenant, refuseRequest, refuseTenant } from "./shape.ts";
import { StructureBytes } from "./structure-bytes.ts";

/** Names of this machine, for itself. */
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** Access rules of a server. */
export interface GateOptions {
  readonly auth: Auth | "none";
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly sessions: BrowserSessions;
  readonly limits: Pick<Required<Limits>, "failuresPerMinute">;
  readonly clock: Clock;
}

/** Checks before every route, in this order: host, origin, key, scope. No caller can name a tenant. */
export class Gate {
  readonly #auth: Auth | "none";
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #sessions: BrowserSessions;
  readonly #strangers: Strangers;

  constructor({ auth, hosts, origins, sessions, limits, clock }: GateOptions) {
    this.#auth = auth;
    this.#strangers = new Strangers(limits.failuresPerMinute, clock);
    this.#sessions = sessions;
    this.#hosts = new Set([...loopbackNames, ...hosts].map((host) => host.toLowerCase()));
    this.#origins = new Set(origins);
  }

  /** Refuses unknown host names, so that a foreign page cannot use DNS rebinding. @throws HttpError */
  checkHost(headers: Headers): void {
    const host = headers.get("host")?.toLowerCase() ?? "";
    const name = host.replace(/:\d{1,5}$/, "");
    if (!this.#hosts.has(host) && !this.#hosts.has(name))
      throw new HttpError(
        "host-not-allowed",
        `host ${JSON.stringify(host.slice(0, 255))} is not allowed: add it to listen({ hosts })`,
      );
  }

  /**
   * Returns the allowed foreign origin of the page that sent the request, or null if the origin is ours. @throws
   * HttpError if the origin is not allowed.
   */
  checkOrigin(headers: Headers): string | null {
    const origin = headers.get("origin");
    if (origin !== null && this.#origins.has(origin)) return origin;
    const isOurs = origin === null || hostOf(origin) === headers.get("host")?.toLowerCase();
    const site = headers.get("sec-fetch-site") ?? "none";
    if (!isOurs || (origin === null && site !== "none" && site !== "same-origin"))
      throw new HttpError(
        "wrong-origin",
        `origin ${JSON.stringify((origin ?? site).slice(0, 255))} is not allowed: add it to listen({ origins })`,
      );
    return null;
  }

  /** Admits the holder of a key, or of a session that was opened with one. `origin`: the other origin that asks. @throws HttpError */
  async admit(request: Request, origin: string | null): Promise<Principal> {
    if (this.#auth === "none") return loopbackPrincipal;
    const { headers } = request;
    if (!headers.has("authorization")) {
      const found = await this.#sessions.find(headers.get("cookie"), headers.get("host") ?? "");
      if (found) {
        checkPage(request, origin);
        return found;
      }
    }
    const bearer = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers.get("authorization") ?? "")?.[1];
    const auth = this.#auth;
    const principal = await this.#strangers.authenticate(bearer ?? "", (each) => auth.authenticate(each));
    if (bearer === undefined || !principal)
      throw new HttpError("unauthorized", "a valid API key is required: send Authorization: Bearer <key>");
    return principal;
  }
}

/** @throws HttpError */
export function checkScope(principal: Principal, scope: Scope | null): void {
  if (scope !== null && !mayDo(principal, scope))
    throw new HttpError("forbidden", `this key lacks the scope ${scope}`);
}

/** Refuses callers that may not read content: not that of other users, and not that of no user. @throws HttpError */
export function checkContent(principal: Principal): void {
  if (!mayReadEntries(principal))
    throw new HttpError(
      "forbidden",
      "this key may not read content: use one with the scope content, or a key of the user whose conversation it is",
    );
}

/** @throws HttpError */
export function checkHeaders(headers: Headers): void {
  for (const name of headers.keys()) if (namesTenant(name)) refuseTenant(`header ${name}`);
}

/** Refuses a body on a request that takes none. @throws HttpError */
export function checkNoBody(headers: Headers): void {
  if ((headers.get("content-length") ?? "0") !== "0" || headers.has("transfer-encoding"))
    refuseRequest("body", "must be empty for this request");
}

/** The body as JSON; an empty one is an empty object. Stops reading where it is too large. @throws HttpError */
export async function readBody(request: Request, most: number): Promise<unknown> {
  if (Number(request.headers.get("content-length") ?? 0) > most) throwTooLarge(most);
  const parts: Uint8Array[] = [];
  const structure = new StructureBytes();
  let size = 0;
  try {
    for await (const part of request.body ?? []) {
      size += part.byteLength;
      if (size > most) throwTooLarge(most);
      structure.add(part);
      if (structure.count > maxStructureBytes)
        throwTooLarge(maxStructureBytes, " outside strings, escapes in strings included");
      parts.push(part);
    }
  } catch (error) {
    // A client that disconnects is not an internal error.
    throw error instanceof HttpError
      ? error
      : new HttpError("invalid-request", "the connection closed before the body was complete");
  }
  if (size === 0) return {};
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json")
    throw new HttpError("unsupported-media-type", "the content type of the body must be application/json");
  const body = await parseBody(parts, size > maxStructureBytes ? nextTask : null);
  if (hasInexactNumber(structure.toText()))
    refuseRequest("body", "has a number that is too large to be stored exactly: send it as a string");
  const excess = findExcess(body, limits);
  if (excess === "maxDepth") refuseRequest("body", `must be nested at most ${limits.maxDepth} levels deep`);
  if (excess === "maxKeys") refuseRequest("body", `must have at most ${limits.maxKeys} keys`);
  return body;
}

/** Files are strings without escapes, so only those may be larger than a body without files. */
const maxStructureBytes = 1_048_576;

/** A chat sends all of its messages, with about ten keys each. */
const limits = { maxDepth: 64, maxKeys: 50_000 };

const nextTask = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Parses a body. Between the parts of the work it gives other requests a turn, if asked to. @throws HttpError */
async function parseBody(
  parts: readonly Uint8Array[],
  pause: (() => Promise<void>) | null,
): Promise<unknown> {
  const bytes = Buffer.concat(parts);
  await pause?.();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    await pause?.();
    return JSON.parse(text);
  } catch {
    return refuseRequest("body", "must be JSON in UTF-8");
  }
}

function throwTooLarge(most: number, place = ""): never {
  throw new HttpError("body-too-large", `the body must have at most ${most} bytes${place}`);
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
