/** A decision without its content. */
export interface SettledDecision {
  readonly decision: string;
  readonly by: string;
  readonly at: number;
}

/** A refusal of the server, or none at all. */
export class ApiError extends Error {
  /** The HTTP status; 0: the server did not answer. */
  readonly status: number;
  readonly code: string;
  /** Why a decision does not count, and the like. */
  readonly reason: string | null;
  /** The decision that counts, where another one came too late. */
  readonly decided: SettledDecision | null;
  /** Seconds until a retry is allowed. Null if not stated. */
  readonly retryAfterS: number | null;
  /** The name of a failure of the server in its log. */
  readonly noted: string | null;

  constructor(fields: {
    readonly status: number;
    readonly code: string;
    readonly message: string;
    readonly reason?: string | null;
    readonly decided?: SettledDecision | null;
    readonly retryAfterS?: number | null;
    readonly noted?: string | null;
  }) {
    super(fields.message);
    this.status = fields.status;
    this.code = fields.code;
    this.reason = fields.reason ?? null;
    this.decided = fields.decided ?? null;
    this.retryAfterS = fields.retryAfterS ?? null;
    this.noted = fields.noted ?? null;
  }
}

/** The path of the page, `/ui` unless the server is mounted below another one. A worker finds it in its own address. */
export const pageBase: string =
  typeof document === "undefined"
    ? location.pathname.replace(/\/assets\/[^/]*$/, "")
    : (document.querySelector<HTMLMetaElement>('meta[name="reeve-base"]')?.content ?? "/ui");

/** The path of the API, beside the page. */
const apiBase = pageBase.replace(/\/ui$/, "");

/** The address of a route. */
export const addressOf = (path: string): string => `${apiBase}${path}`;

/** A part of a path. */
export const segment = (text: string): string => encodeURIComponent(text);

interface RequestOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Asks the server. @throws ApiError */
export async function request<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  const { method = "GET", body, headers = {}, signal } = options;
  const response = await fetch(addressOf(path), {
    method,
    credentials: "same-origin",
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError({ status: 0, code: "no-answer", message: "the server does not answer" });
  });
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response, answer);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- data enters here
  return answer as Answer;
}

const maxTries = 3;

/**
 * Sends a command. A request without an answer in time may still take effect: it is repeated with the same body, whose
 * id makes it count once. @throws ApiError
 */
export async function post<Answer>(path: string, body: unknown): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await request<Answer>(path, { method: "POST", body });
    } catch (error) {
      if (tries === maxTries || !(error instanceof ApiError) || error.status !== 504) throw error;
    }
  }
}

function toApiError({ status, headers }: Response, answer: unknown): ApiError {
  const retryAfter = headers.get("retry-after");
  const error = fieldOf(answer, "error");
  const text = (name: string): string | null => {
    const value = fieldOf(error, name);
    return typeof value === "string" ? value : null;
  };
  return new ApiError({
    status,
    code: text("code") ?? "error",
    message: text("message") ?? `the server answered ${status}`,
    reason: text("reason"),
    decided: decisionOf(fieldOf(error, "decided")),
    noted: text("noted"),
    retryAfterS: retryAfter === null ? null : Number(retryAfter),
  });
}

function decisionOf(value: unknown): SettledDecision | null {
  const [decision, by, at] = ["decision", "by", "at"].map((name) => fieldOf(value, name));
  if (typeof decision !== "string" || typeof by !== "string" || typeof at !== "number") return null;
  return { decision, by, at };
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Returns the reason of a refusal as text. */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 403) return `Your key may not do this: ${error.message}`;
  if (error.status === 429) return `Not started: try again in ${error.retryAfterS ?? 1} s (${error.message})`;
  if (error.noted !== null)
    return `The server failed. Its log has the reason under ${error.noted}. Try again, or ask its operator.`;
  if (error.status === 504) return "No answer: the action may still happen. It was retried with the same id.";
  return error.message;
}
