import { hash, randomBytes } from "node:crypto";
import type { Clock } from "#kernel";
import { LruMap } from "#base";
import type { Auth, Principal } from "./auth.ts";
import { HttpError } from "./http-error.ts";

const maxSessions = 10_000;
const lifetimeMs = 12 * 60 * 60 * 1000;

interface BrowserSession {
  readonly principal: Principal;
  readonly expiresAt: number;
}

/**
 * Sessions of browsers: a page cannot send `Authorization` with every request, so a key is exchanged for a cookie.
 * 1. A cookie holds 256 random bits. Only their hash is stored, in the memory of this process.
 * 2. A session ends after 12 hours, when its key expires or is revoked, or when the process ends.
 * 3. A session has the rights that its key has at each request.
 */
export class BrowserSessions {
  readonly #auth: Auth | "none";
  readonly #clock: Clock;
  readonly #sessions = new LruMap<string, BrowserSession>({ max: maxSessions });

  constructor(auth: Auth | "none", clock: Clock) {
    this.#auth = auth;
    this.#clock = clock;
  }

  /** Opens a session. Returns the value of its `Set-Cookie` header. */
  open(principal: Principal, host: string): string {
    const token = randomBytes(32).toString("base64url");
    const expiresAt = Math.min(this.#clock.now() + lifetimeMs, principal.expiresAt ?? Infinity);
    this.#sessions.set(hash("sha256", token), { principal, expiresAt });
    const seconds = Math.max(0, Math.floor((expiresAt - this.#clock.now()) / 1000));
    return cookie(host, token, seconds);
  }

  /** Ends the session of a request. Returns the `Set-Cookie` header that removes its cookie. */
  close(header: string | null, host: string): string {
    const token = tokenIn(header, host);
    if (token !== null) this.#sessions.delete(hash("sha256", token));
    return cookie(host, "", 0);
  }

  /** Returns the holder of the key of a session; null: there is none, or it has ended. */
  async find(header: string | null, host: string): Promise<Principal | null> {
    const token = tokenIn(header, host);
    if (token === null || this.#auth === "none") return null;
    const key = hash("sha256", token);
    const session = this.#sessions.get(key);
    if (!session) return null;
    const isPast = session.expiresAt <= this.#clock.now();
    const current = isPast ? null : await renew(this.#auth, session.principal);
    if (!current) this.#sessions.delete(key);
    return current;
  }
}

/** Reads the rights of the key again. A session for one user remains restricted to that user. */
async function renew(auth: Auth, principal: Principal): Promise<Principal | null> {
  if (!auth.renew) return principal;
  const current = await auth.renew(principal.id);
  return current && principal.user !== undefined ? { ...current, user: principal.user } : current;
}

/**
 * Refuses a request with a cookie if a page of another origin may have sent it. `SameSite=Strict` allows pages of other
 * subdomains, so a write must state its origin. @throws HttpError
 */
export function checkPage({ headers, method }: Request, origin: string | null): void {
  const isRead = method === "GET" || method === "HEAD";
  const isNamed = headers.has("origin") || headers.get("sec-fetch-site") === "same-origin";
  if (origin !== null || (!isRead && !isNamed))
    throw new HttpError(
      "wrong-origin",
      "a session cookie is accepted only from pages of this server: use an API key instead",
    );
}

/** Browsers accept the prefix `__Host-` with TLS alone, which loopback does without. */
const nameAt = (host: string): string => (isLoopback(host) ? "reeve" : "__Host-reeve");

const isLoopback = (host: string): boolean => /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host);

function cookie(host: string, token: string, seconds: number): string {
  const secure = isLoopback(host) ? "" : "; Secure";
  return `${nameAt(host)}=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}

function tokenIn(header: string | null, host: string): string | null {
  const name = `${nameAt(host)}=`;
  const pair = header?.split(/; */).find((each) => each.startsWith(name));
  const token = pair?.slice(name.length) ?? "";
  return /^[\w-]{43}$/.test(token) ? token : null;
}
