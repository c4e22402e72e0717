/**
 * Signatures of webhooks, in the public format of Standard Webhooks: three headers, and HMAC-SHA256 over id, time and body.
 *
 * 1. A request that is sent again has the same id and a new time, so also a new signature.
 * 2. The receiver refuses times that are more than 5 minutes off, and the same id and time a second time.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { LruMap, systemClock } from "#base";
import { isJsonObject, Json, ReeveError, type JsonObject, type WebhookEvent } from "#kernel";

const secretMark = "whsec_";
const version = "v1";
/** A request has one signature for each secret in use. */
const maxSignatures = 10;
const windowMs = 300_000;

/** The body of a webhook. */
export interface WebhookMessage {
  readonly type: WebhookEvent;
  /** When the event happened, in ISO 8601. */
  readonly timestamp: string;
  /** Ids, status and amounts of the event. */
  readonly data: JsonObject;
}

/** A message with a valid signature. */
export interface VerifiedWebhook extends WebhookMessage {
  /** The same in each try to deliver an event: a receiver that has seen it may ignore the message. */
  readonly id: string;
}

/** The reason why a message is refused. */
export type WebhookRefusal = "headers" | "timestamp" | "signature" | "replay" | "body";

/** A message is not a valid webhook. */
export class WebhookRefusedError extends ReeveError {
  readonly code = "webhook-refused";
  readonly reason: WebhookRefusal;

  constructor({ reason, detail }: { readonly reason: WebhookRefusal; readonly detail: string }) {
    super(`webhook refused: ${detail}`);
    this.reason = reason;
  }
}

/** Remembers accepted messages while their time is in the window. */
export class ReplayCache {
  readonly #seen: LruMap<string, number>;

  constructor({ max = 10_000 }: { readonly max?: number } = {}) {
    this.#seen = new LruMap({ max });
  }

  /** Adds a message. Returns whether it is new. */
  add(message: string, now: number): boolean {
    const until = this.#seen.get(message);
    if (until !== undefined && until > now) return false;
    // A timestamp up to one window ahead is valid, so the same delivery stays valid for up to two windows.
    this.#seen.set(message, now + 2 * windowMs);
    return true;
  }
}

const processCache = new ReplayCache();

/** A request to verify. */
export interface VerifyWebhookOptions {
  /** The body as received, before any parsing. */
  readonly body: string | Uint8Array;
  /** The headers, as `Headers` or as `node:http` has them. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secrets in use: during a rotation, both. */
  readonly secrets: readonly string[];
  /** Messages that were accepted before. Default: one cache for this process. */
  readonly seen?: ReplayCache | undefined;
  /** Milliseconds since 1970. Default: the machine's clock. */
  readonly now?: number | undefined;
}

/** Checks the signature of a webhook and returns its message. @throws WebhookRefusedError; TypeError on a secret that is none. */
export function verifyWebhook(options: VerifyWebhookOptions): VerifiedWebhook {
  const { headers, secrets, seen = processCache, now = systemClock.now() } = options;
  const body = Buffer.from(options.body);
  const id = headerOf(headers, "webhook-id");
  const time = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (!id || !time || !signatures || !/^\d{1,12}$/.test(time))
    throw new WebhookRefusedError({ reason: "headers", detail: "a header is missing or not valid" });
  if (Math.abs(now - Number(time) * 1_000) > windowMs)
    throw new WebhookRefusedError({
      reason: "timestamp",
      detail: "its timestamp differs from now by more than 5 minutes",
    });
  const given = signatures.split(" ").slice(0, maxSignatures);
  const expected = secrets.map((secret) => sign(secret, { id, time, body }));
  if (!expected.some((one) => given.some((other) => isEqualInConstantTime(one, other))))
    throw new WebhookRefusedError({ reason: "signature", detail: "no signature is valid" });
  if (!seen.add(JSON.stringify([id, time]), now))
    throw new WebhookRefusedError({ reason: "replay", detail: "it was already accepted (replay)" });
  return { ...parseMessage(body), id };
}

/** Returns the headers of a signed request, with one signature for each secret. `at`: milliseconds since 1970. */
export function signWebhook({
  id,
  at,
  body,
  secrets,
}: {
  readonly id: string;
  readonly at: number;
  readonly body: string;
  readonly secrets: readonly string[];
}): Readonly<Record<string, string>> {
  const time = String(Math.floor(at / 1_000));
  const bytes = Buffer.from(body);
  return {
    "webhook-id": id,
    "webhook-timestamp": time,
    "webhook-signature": secrets.map((secret) => sign(secret, { id, time, body: bytes })).join(" "),
  };
}

/** Returns a secret from random bytes. */
export const toWebhookSecret = (bytes: Uint8Array): string =>
  `${secretMark}${Buffer.from(bytes).toString("base64")}`;

/** Returns the bytes of a secret. @throws TypeError, which does not show it. */
export function webhookKey(secret: string): Buffer {
  const text = secret.startsWith(secretMark) ? secret.slice(secretMark.length) : "";
  const key = Buffer.from(text, "base64");
  if (key.length < 24 || key.length > 64 || key.toString("base64") !== text)
    throw new TypeError("invalid webhook secret: use whsec_ followed by 24 to 64 bytes in base64");
  return key;
}

function sign(
  secret: string,
  { id, time, body }: { readonly id: string; readonly time: string; readonly body: Uint8Array },
): string {
  const mac = createHmac("sha256", webhookKey(secret)).update(`${id}.${time}.`).update(body);
  return `${version},${mac.digest("base64")}`;
}

function isEqualInConstantTime(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function headerOf(headers: VerifyWebhookOptions["headers"], name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = headers[name];
  return typeof value === "string" ? value : null;
}

function parseMessage(body: Buffer): WebhookMessage {
  try {
    const message = Json.of(JSON.parse(body.toString("utf8")));
    if (isJsonObject(message)) return Json.as(message);
  } catch {
    // Reported below.
  }
  throw new WebhookRefusedError({ reason: "body", detail: "its body is not a JSON object" });
}
