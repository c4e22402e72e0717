interface FaultOf<Kind extends string> {
  readonly kind: Kind;
  /** Whether the call is billed. Default: a refused call is not, every other call is. */
  readonly billed?: boolean | undefined;
}

/** An answer of its own instead of the model's. The work was never done. */
export type Refusal =
  | FaultOf<
      /** The spend limit is reached: OpenAI 429 `insufficient_quota`, Anthropic 429 `enforced_spend_limit_reached`. */
      | "quota"
      /** The prepaid credit is used up: OpenAI as `quota`, Anthropic 400 with "credit balance is too low". */
      | "credit-exhausted"
      /** Anthropic 529 `overloaded_error`, OpenAI 503 `server_is_overloaded`. */
      | "overloaded"
      /** 400: the prompt does not fit. */
      | "context-overflow"
      /** 400: the prompt or its answer is not allowed. */
      | "content-blocked"
      /** 401: a wrong key. */
      | "unauthorized"
      /** 402. */
      | "payment-required"
      /** 403: this key may not do this. */
      | "forbidden"
      /** The key was taken back: Anthropic 403, OpenAI 401 `account_deactivated`. */
      | "revoked"
      /** The account was closed: Anthropic 400, OpenAI 403 `access_terminated`. */
      | "disabled"
      /** 404: unknown model. */
      | "not-found"
    >
  | RateLimit
  | ServerError;

/** The work is done, but the response or its report is wrong. */
export type Mishap =
  | FaultOf<
      /** The connection is reset without a byte. */
      | "executed-then-reset"
      /** A body, or one event of a stream, that is not JSON. */
      | "malformed-body"
      /** Tool arguments that are not JSON. If the wire has no text for them, they arrive empty. */
      | "malformed-arguments"
      /** The answer does not report its usage. */
      | "missing-usage"
      /** 200, and the answer stops for its content. */
      | "content-filter"
    >
  | OverloadedStream
  | Cut
  | Hang
  | Slow
  | AbsurdUsage;

/** Something that goes wrong, in the shape in which the real provider does it. */
export type Fault = Refusal | Mishap;

/** The name of a fault. */
export type FaultKind = Fault["kind"];

/** 429. Sends `Retry-After` only if set. */
interface RateLimit extends FaultOf<"rate-limit"> {
  readonly retryAfterSeconds?: number | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** A failure of the server or of a proxy before it: 500 is JSON, 502 is a page, 503 is plain text. */
interface ServerError extends FaultOf<"server-error"> {
  /** Default 500. */
  readonly status?: 500 | 502 | 503 | undefined;
}

/** Overload in the middle of a stream. A request that is not streamed gets `overloaded`. */
interface OverloadedStream extends FaultOf<"overloaded-stream"> {
  /** Number of events sent first. 0: the error is the first event. Default: half of them. */
  readonly afterEvents?: number | undefined;
}

/** The body breaks off. */
interface Cut extends FaultOf<"cut"> {
  /** Bytes of the body sent first. Default: drawn from the seed. */
  readonly afterBytes?: number | undefined;
  /** `drop` closes the connection; `finish` ends the body as if it were complete. Default: `drop`. */
  readonly ending?: "drop" | "finish" | undefined;
}

/** Sends nothing until the client leaves or the provider closes. */
interface Hang extends FaultOf<"hang"> {
  /** Bytes of the body sent first. Default: not even the headers. */
  readonly afterBytes?: number | undefined;
}

/** The body trickles. */
interface Slow extends FaultOf<"slow"> {
  /** Bytes per write. Default: 1. */
  readonly bytes?: number | undefined;
  /** Default 1,000. */
  readonly everyMs?: number | undefined;
}

/** Usage that cannot be true. The bill is not touched by it. */
interface AbsurdUsage extends FaultOf<"absurd-usage"> {
  /** Below zero, a string, or 10^15. Default: `negative`. */
  readonly form?: "negative" | "not-a-number" | "huge" | undefined;
}

const refusals: ReadonlySet<FaultKind> = new Set<Refusal["kind"]>([
  "rate-limit",
  "quota",
  "credit-exhausted",
  "server-error",
  "overloaded",
  "context-overflow",
  "content-blocked",
  "unauthorized",
  "payment-required",
  "forbidden",
  "revoked",
  "disabled",
  "not-found",
]);

/** Whether a fault is an answer of its own instead of the model's. */
export function isRefusal(fault: Fault): fault is Refusal {
  return refusals.has(fault.kind);
}

/**
 * Whether the call is billed: yes unless it was refused, because an answer that was not received was still produced.
 */
export function isBilled(fault: Fault | null): boolean {
  return fault === null || (fault.billed ?? !isRefusal(fault));
}

/** Returns the fault for a name, or the given fault. */
export function toFault(fault: Fault | FaultKind): Fault {
  return typeof fault === "string" ? { kind: fault } : fault;
}
