import type { ErrorData } from "./errors.ts";
import { AttemptId, EntryId, SessionId, StepId, UserId } from "./ids.ts";
import { isJsonObject, Json, type JsonObject } from "./json.ts";
import { Labels } from "./labels.ts";
import type { FinishReason } from "./model.ts";
import { Price } from "./price.ts";
import type { SessionKey } from "./session.ts";
import type { Usage } from "./usage.ts";

const kinds = ["model", "tool"] as const;
const roles = ["system", "tools", "user", "assistant", "tool", "input", "result"] as const;
const layers = ["gate", "permission", "guardrail", "middleware", "approval"] as const;
const inputKinds = ["message", "steer", "followUp"] as const;
const finishes = ["stop", "tool-calls", "length", "content-filter", "error", "other"] as const;

/** The role of a part: a message's, `tools` for the descriptions of tools, `input` and `result` of a tool call. */
export type PartRole = (typeof roles)[number];

/**
 * A part of a prompt or of an answer: one message, the descriptions of the tools, or the input or result of a tool. It holds
 * no content. The content is a session entry, or a text of the tree.
 */
export interface ManifestPart {
  readonly role: PartRole;
  /** SHA-256 of the content as JSON, in base64url. */
  readonly hash: string;
  /** Characters of the content as JSON. */
  readonly size: number;
  /** Estimated tokens. */
  readonly tokens: number;
  /** The session entry that has the content. Absent: it is a text of the tree. */
  readonly entry?: EntryId | undefined;
  /** The reason why the content is not stored. Absent: it is stored. */
  readonly notStored?: "ephemeral" | "retention" | "too-large" | undefined;
  /** The name of the sender, and the kind of input. Absent: not an input, or unknown. */
  readonly from?: { readonly kind: (typeof inputKinds)[number]; readonly name: string } | undefined;
  /** The labels of the content. Absent: none. */
  readonly labels?: Pick<Labels, "untrusted" | "private"> | undefined;
}

/** One attempt of a step. */
export interface StepAttempt {
  readonly attempt: AttemptId;
  readonly at: number;
  readonly ms: number;
  /** Null: the provider did not report it. Absent: the attempt is not a model call. */
  readonly usage?: Usage | null | undefined;
  readonly error?: ErrorData | undefined;
}

/** A decision about a step. */
export interface StepDecision {
  readonly by: string;
  readonly layer: (typeof layers)[number];
  readonly decision: string;
  readonly reason?: string | undefined;
}

/** A model call or tool call as it was made: figures, and references to everything that was sent and answered. */
export interface StepManifest {
  readonly kind: (typeof kinds)[number];
  /** The name of the model or tool. */
  readonly name: string;
  readonly attempts: readonly StepAttempt[];
  /** The price of the model. */
  readonly price?: Price | undefined;
  readonly finish?: FinishReason | undefined;
  /** The conversation that the entries of parts belong to. Absent: no part names an entry. */
  readonly session?: SessionKey | undefined;
  /** The prompt as it was sent, after all middleware: system message, tools, messages. Of a tool: its input. */
  readonly prompt: readonly ManifestPart[];
  /** SHA-256 over the hashes of `prompt`, in base64url. */
  readonly promptHash: string;
  readonly answer: readonly ManifestPart[];
  readonly decisions: readonly StepDecision[];
  /**
   * The manifest of the same run that this prompt starts with. `prompt` then holds only the parts after its first
   * `parts` ones. Absent: `prompt` is complete. Only in storage.
   */
  readonly base?: { readonly step: StepId; readonly attempt: AttemptId; readonly parts: number } | undefined;
}

/** Readers of {@link StepManifest}. */
export const StepManifest = {
  /**
   * Returns a manifest that came back from storage.
   *
   * @throws TypeError that names the field; the message holds no value of the manifest.
   */
  decode: (raw: Json): StepManifest => {
    const given = closeManifest("a manifest", raw, manifestFields);
    const { price, finish, session, base, ...rest } = given;
    return {
      kind: oneOf("kind", kinds, rest["kind"]),
      name: readManifestText("name", rest["name"]),
      attempts: readManifestList("attempts", rest["attempts"]).map(attemptOf),
      prompt: readManifestList("prompt", rest["prompt"]).map(readPart),
      promptHash: readManifestText("promptHash", rest["promptHash"]),
      answer: readManifestList("answer", rest["answer"]).map(readPart),
      decisions: readManifestList("decisions", rest["decisions"]).map(decisionOf),
      ...(price !== undefined && { price: priceOf(price) }),
      ...(finish !== undefined && { finish: oneOf("finish", finishes, finish) }),
      ...(session !== undefined && { session: sessionOf(session) }),
      ...(base !== undefined && { base: baseOf(base) }),
    };
  },
} as const;

const manifestFields = [
  "kind",
  "name",
  "attempts",
  "price",
  "finish",
  "session",
  "prompt",
  "promptHash",
  "answer",
  "decisions",
  "base",
];

function attemptOf(raw: Json): StepAttempt {
  const { attempt, at, ms, usage, error } = closeManifest("attempts", raw, [
    "attempt",
    "at",
    "ms",
    "usage",
    "error",
  ]);
  return {
    attempt: AttemptId.of(readManifestText("attempts.attempt", attempt)),
    at: countOf("attempts.at", at),
    ms: countOf("attempts.ms", ms),
    ...(usage !== undefined && { usage: usage === null ? null : usageOf(usage) }),
    ...(error !== undefined && { error: errorOf(error) }),
  };
}

function usageOf(raw: Json): Usage {
  const given = closeManifest("usage", raw, ["input", "output", "cachedInput", "cacheWrite"]);
  for (const value of Object.values(given)) countOf("usage", value);
  countOf("usage.input", given["input"]);
  countOf("usage.output", given["output"]);
  return Json.as(given);
}

function errorOf(raw: Json): ErrorData {
  if (!isJsonObject(raw) || typeof raw["code"] !== "string") throw createUnreadableError("error");
  return Json.as(raw);
}

function priceOf(raw: Json): Price {
  if (!isJsonObject(raw)) throw createUnreadableError("price");
  const { tiers = [], ...rates } = raw;
  const isPrice = hasNumbersOnly(rates) && Array.isArray(tiers) && tiers.every(hasNumbersOnly);
  if (!isPrice || Price.fault(Json.as(raw)) !== null) throw createUnreadableError("price");
  return Json.as(raw);
}

const hasNumbersOnly = (raw: Json): boolean =>
  isJsonObject(raw) && Object.values(raw).every((value) => typeof value === "number");

function sessionOf(raw: Json): SessionKey {
  const { id, userId } = closeManifest("session", raw, ["id", "userId"]);
  return {
    id: SessionId.of(readManifestText("session.id", id)),
    userId: userId === null ? null : UserId.of(readManifestText("session.userId", userId)),
  };
}

function baseOf(raw: Json): NonNullable<StepManifest["base"]> {
  const { step, attempt, parts } = closeManifest("base", raw, ["step", "attempt", "parts"]);
  return {
    step: StepId.parse(readManifestText("base.step", step)),
    attempt: AttemptId.of(readManifestText("base.attempt", attempt)),
    parts: countOf("base.parts", parts),
  };
}

function readPart(raw: Json): ManifestPart {
  const fields = ["role", "hash", "size", "tokens", "entry", "notStored", "from", "labels"];
  const { role, hash, size, tokens, entry, notStored, from, labels } = closeManifest("a part", raw, fields);
  return {
    role: oneOf("role", roles, role),
    hash: readManifestText("hash", hash),
    size: countOf("size", size),
    tokens: countOf("tokens", tokens),
    ...(entry !== undefined && { entry: EntryId.of(readManifestText("entry", entry)) }),
    ...(notStored !== undefined && { notStored: oneOf("notStored", whyNotStored, notStored) }),
    ...(from !== undefined && { from: senderOf(from) }),
    ...(labels !== undefined && { labels: readLabels(labels) }),
  };
}

function senderOf(raw: Json): NonNullable<ManifestPart["from"]> {
  const { kind, name } = closeManifest("from", raw, ["kind", "name"]);
  return { kind: oneOf("from.kind", inputKinds, kind), name: readManifestText("from.name", name) };
}

function readLabels(raw: Json): NonNullable<ManifestPart["labels"]> {
  const labels = Labels.decode(raw);
  if (!labels) throw createUnreadableError("labels");
  return { untrusted: labels.untrusted, private: labels.private };
}

const whyNotStored = ["ephemeral", "retention", "too-large"] as const;

function decisionOf(raw: Json): StepDecision {
  const { by, layer, decision, reason } = closeManifest("decisions", raw, [
    "by",
    "layer",
    "decision",
    "reason",
  ]);
  return {
    by: readManifestText("decisions.by", by),
    layer: oneOf("decisions.layer", layers, layer),
    decision: readManifestText("decisions.decision", decision),
    ...(reason !== undefined && { reason: readManifestText("decisions.reason", reason) }),
  };
}

/** Returns an object that has only these fields. @throws TypeError otherwise. */
function closeManifest(what: string, raw: Json, known: readonly string[]): JsonObject {
  if (!isJsonObject(raw) || Object.keys(raw).some((name) => !known.includes(name)))
    throw createUnreadableError(what);
  return raw;
}

function readManifestList(field: string, value: Json | undefined): readonly Json[] {
  if (!Array.isArray(value)) throw createUnreadableError(field);
  return value;
}

function readManifestText(field: string, value: Json | undefined): string {
  if (typeof value !== "string") throw createUnreadableError(field);
  return value;
}

function countOf(field: string, value: Json | undefined): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) throw createUnreadableError(field);
  return value;
}

function oneOf<Value extends string>(
  field: string,
  values: readonly Value[],
  given: Json | undefined,
): Value {
  const found = values.find((value) => value === given);
  if (found === undefined) throw createUnreadableError(field);
  return found;
}

const createUnreadableError = (field: string): TypeError =>
  new TypeError(`the manifest is not readable: ${field}`);
