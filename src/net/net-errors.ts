import { ReeveError } from "#kernel";

/** The rule that refused a URL. */
export type AddressRefusal =
  | "invalid-url"
  | "protocol"
  | "credentials"
  | "port"
  | "host"
  | "address"
  | "unresolved"
  | "denied"
  | "redirects";

/** The address policy refuses a URL. Names the host only: a path or a query may hold a token. */
export class AddressRefusedError extends ReeveError {
  readonly code = "address-refused";
  override readonly retryable: boolean;
  readonly host: string;
  readonly rule: AddressRefusal;

  constructor({
    host,
    rule,
    detail,
  }: {
    readonly host: string;
    readonly rule: AddressRefusal;
    readonly detail: string;
  }) {
    super(`address refused: ${host ? `${host}: ` : ""}${detail}`);
    this.host = host;
    this.rule = rule;
    this.retryable = rule === "unresolved";
  }
}

/** The limit that a transfer met. */
export type FetchLimit = "bytes" | "time" | "idle" | "compression";

/** A transfer met one of its limits and was ended. */
export class FetchLimitError extends ReeveError {
  readonly code = "fetch-limit";
  override readonly retryable: boolean;
  readonly host: string;
  readonly limit: FetchLimit;

  constructor({
    host,
    limit,
    detail,
  }: {
    readonly host: string;
    readonly limit: FetchLimit;
    readonly detail: string;
  }) {
    super(`request to ${host} ended: ${detail}`);
    this.host = host;
    this.limit = limit;
    this.retryable = limit === "time" || limit === "idle";
  }
}
