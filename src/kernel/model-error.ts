import { ReeveError } from "./errors.ts";

/** The kind of a failed model call. The first five are transient; the rest are permanent. */
export type ModelErrorKind =
  | "rate-limit"
  | "overloaded"
  | "server-error"
  | "timeout"
  | "unknown"
  | "context-overflow"
  | "auth"
  | "auth-permanent"
  | "billing"
  | "model-not-found"
  | "content-blocked"
  | "format";

const passing: ReadonlySet<ModelErrorKind> = new Set([
  "rate-limit",
  "overloaded",
  "server-error",
  "timeout",
  "unknown",
]);

/** A model call failed. */
export class ModelError extends ReeveError {
  readonly code = "model";
  readonly kind: ModelErrorKind;
  override readonly retryable: boolean;
  /** The status of the provider's answer. Null if there was none. */
  readonly statusCode: number | null;
  /** Delay that the provider requests. Null: none. */
  readonly retryAfterMs: number | null;
  /** Whether the call certainly cost nothing. If not, the attempt stays booked at its ceiling. */
  readonly unbilled: boolean;

  constructor(fields: Pick<ModelError, "kind" | "message"> & Partial<ModelError>) {
    super(fields.message);
    this.kind = fields.kind;
    this.retryable = passing.has(fields.kind);
    this.statusCode = fields.statusCode ?? null;
    this.retryAfterMs = fields.retryAfterMs ?? null;
    this.unbilled = fields.unbilled ?? false;
  }
}
