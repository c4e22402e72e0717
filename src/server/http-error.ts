import { type ErrorData, ReeveError, type StartLimits } from "#kernel";

/** An error that the server itself returns for a request. */
export class HttpError extends ReeveError {
  readonly code: RefusalCode;
  override readonly retryable: boolean;
  /** When it may be asked again. */
  readonly retryAfterS: number | null;
  /** The settings that the caller may ask for instead. */
  readonly allowed?: StartLimits;

  constructor(
    code: RefusalCode,
    message: string,
    fields: { readonly retryAfterS?: number; readonly allowed?: StartLimits } = {},
  ) {
    super(message);
    this.code = code;
    this.retryAfterS = fields.retryAfterS ?? null;
    this.retryable = fields.retryAfterS !== undefined;
    if (fields.allowed) this.allowed = fields.allowed;
  }
}

/** Error codes of the server itself. */
type RefusalCode =
  | "invalid-request"
  | "tenant-not-allowed"
  | "unauthorized"
  | "forbidden"
  | "limit-exceeded"
  | "host-not-allowed"
  | "wrong-origin"
  | "unsupported-media-type"
  | "body-too-large"
  | "too-many-requests"
  | "overloaded"
  | "no-answer";

/** The only mapping of errors to HTTP statuses. Any other error is internal, and its details are not revealed. */
const statuses: Readonly<Record<string, number>> = {
  "invalid-request": 400,
  "invalid-input": 400,
  "tenant-not-allowed": 400,
  unauthorized: 401,
  forbidden: 403,
  "limit-exceeded": 403,
  "wrong-origin": 403,
  "not-found": 404,
  "id-conflict": 409,
  disabled: 409,
  "session-busy": 409,
  "turn-lost": 409,
  "run-ended": 409,
  "approval-refused": 409,
  "wait-cycle": 409,
  "incompatible-version": 409,
  "tool-refused": 409,
  cancelled: 409,
  "budget-exhausted": 409,
  "key-destroyed": 410,
  "too-large": 413,
  "body-too-large": 413,
  "unsupported-media-type": 415,
  "host-not-allowed": 421,
  "backlog-full": 429,
  "too-many-requests": 429,
  overloaded: 429,
  retryable: 503,
  "deltas-cut": 503,
  "no-answer": 504,
};

/** The HTTP form of an error. */
export interface HttpErrorReply {
  readonly status: number;
  readonly error: ErrorData;
  readonly headers: Readonly<Record<string, string>>;
}

/** Converts an error to its HTTP form. Internal errors reveal only an error id. */
export function toHttpError(error: unknown, note: (error: unknown) => string): HttpErrorReply {
  const status = ReeveError.is(error) ? statuses[error.code] : undefined;
  if (!ReeveError.is(error) || status === undefined) {
    const noted = note(error);
    return {
      status: 500,
      error: { code: "internal", message: `internal error (id ${noted})`, noted },
      headers: {},
    };
  }
  const { retryAfterS, partition: _, ...fields } = error.toJSON();
  return { status, error: fields, headers: headersOf(status, retryAfterS) };
}

function headersOf(status: number, retryAfterS: unknown): Readonly<Record<string, string>> {
  if (status === 401) return { "www-authenticate": 'Bearer realm="reeve"' };
  return typeof retryAfterS === "number" ? { "retry-after": String(retryAfterS) } : {};
}
