/** The details of a {@link ClientError}. */
export interface ClientErrorData {
  readonly code: string;
  readonly message: string;
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null;
  /** The session that is busy, where that is the reason. */
  readonly session: string | null;
}

/** A request that failed. `code`: the server's, else `unreachable` or `not-reeve`. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: string;
  readonly status: number | null;
  readonly session: string | null;

  constructor({ code, message, status, session }: ClientErrorData) {
    super(message);
    this.code = code;
    this.status = status;
    this.session = session;
  }

  /** Whether the same request may succeed later: the server was not there, or failed. */
  get retryable(): boolean {
    return this.status === null || this.status >= 500 || this.status === 429;
  }
}
