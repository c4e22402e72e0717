import { checkMoment } from "./check-time.ts";
import { UserId } from "./ids.ts";
import { isJsonObject, Json, type JsonObject } from "./json.ts";
import { ExecutionBudget, Priority, SpawnBudget } from "./supervision.ts";

const scopes = ["read", "run", "approve", "admin", "content", "act-for-users"] as const;

/** A right of an API key. `admin` includes all of them, but errors of the program's code are shown to `content` only. */
export type ApiKeyScope = (typeof scopes)[number];

/** Limits of a tree that a client starts. Absent: none. */
export interface StartLimits {
  readonly budget?: ExecutionBudget | undefined;
  readonly priority?: Priority | undefined;
  /** Live runs, root included. */
  readonly maxAgents?: number | undefined;
}

/** Limits of the holder of an API key. Absent: none. */
export interface KeyLimits extends StartLimits {
  /** Schedules of the user that the key is bound to. Of a key that is bound to none: schedules of the tenant. */
  readonly schedules?: number | undefined;
  /** Shortest seconds between two ticks of a schedule. A shorter one than the server's changes nothing. */
  readonly scheduleIntervalS?: number | undefined;
}

const scheduleLimits = ["schedules", "scheduleIntervalS"] as const;

/** The rules of {@link KeyLimits}. */
export const KeyLimits = {
  /** @throws RangeError unless the limits of schedules are integers >= 0. */
  checkSchedules: (limits: KeyLimits): void => {
    for (const name of scheduleLimits) {
      const limit = limits[name];
      if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0))
        throw new RangeError(`limits.${name} must be an integer >= 0, got ${limit}`);
    }
  },
} as const;

/** The stored form of an API key. The key cannot be computed from it. */
export interface ApiKeyRecord {
  /** The public part of the key. */
  readonly id: string;
  /** SHA-256 of the whole key, in hex. A key is 256 random bits, so nothing slower is needed. */
  readonly hash: string;
  /** The tenant whose data it opens. Null: the partition without a tenant. */
  readonly tenant: string | null;
  /** The one user of the tenant that the key acts for. Null: the key is bound to no user. */
  readonly user: UserId | null;
  readonly scopes: readonly ApiKeyScope[];
  /** Milliseconds since 1970. The key is refused from this moment. */
  readonly expiresAt: number;
  /** Limits of each tree that is started with the key, and of its schedules. Default: none. */
  readonly limits?: KeyLimits | undefined;
}

/** Readers of {@link ApiKeyRecord}. */
export const ApiKeyRecord = {
  scopes,
  /**
   * Returns a record that came back from storage. A record without `user` is refused: storage that drops the field would
   * turn a user's key into one for all users.
   *
   * @throws TypeError or RangeError that names the field; the message holds no value of the record.
   */
  decode: (raw: unknown): ApiKeyRecord => {
    const {
      id,
      hash,
      tenant,
      user,
      scopes: given,
      expiresAt,
      limits,
    } = closeKeyRecord("an API key", raw, fields);
    if (!Array.isArray(given) || !given.every(isScope)) throw createUnreadableKeyError("scopes");
    return {
      id: readKeyText("id", id),
      hash: readKeyText("hash", hash),
      tenant: tenant === null ? null : readKeyText("tenant", tenant),
      user: user === null ? null : UserId.of(readKeyText("user", user)),
      scopes: Json.as(given),
      expiresAt: checkMoment("expiresAt", Json.as(expiresAt ?? null)),
      ...(limits !== undefined && { limits: limitsOf(limits) }),
    };
  },
} as const;

const isScope = (scope: Json): boolean => scopes.some((known) => known === scope);

const fields = ["id", "hash", "tenant", "user", "scopes", "expiresAt", "limits"];

function limitsOf(raw: Json): KeyLimits {
  const names = ["budget", "priority", "maxAgents", ...scheduleLimits];
  const { budget, priority, maxAgents, ...given } = closeKeyRecord("limits", raw, names);
  if (priority !== undefined && !Priority.all.some((known) => known === priority))
    throw createUnreadableKeyError("limits.priority");
  if (maxAgents !== undefined) SpawnBudget.of({ maxAgents: Json.as(maxAgents) });
  KeyLimits.checkSchedules(Json.as(given));
  if (budget !== undefined) {
    const numbers = ["maxTokens", "maxCostUsd", "maxTurns", "deadlineS"];
    const { onLimit: _, ...amounts } = closeKeyRecord("limits.budget", budget, [...numbers, "onLimit"]);
    if (Object.values(amounts).some((amount) => typeof amount !== "number"))
      throw createUnreadableKeyError("limits.budget");
    ExecutionBudget.of(Json.as(budget));
  }
  return Json.as(raw);
}

/** Returns an object that has no fields but these. */
function closeKeyRecord(what: string, raw: unknown, known: readonly string[]): JsonObject {
  if (!isJsonObject(raw) || Object.keys(raw).some((name) => !known.includes(name)))
    throw createUnreadableKeyError(what);
  return raw;
}

function readKeyText(field: string, value: Json | undefined): string {
  if (typeof value !== "string" || value === "") throw createUnreadableKeyError(field);
  return value;
}

const createUnreadableKeyError = (field: string): TypeError =>
  new TypeError(`the record of an API key is not readable: ${field}`);
