import { isJsonObject, Json, type Page } from "#kernel";
import { ClientError } from "./client-error.ts";
import { readBodyText, type SentEvent, sentEvents } from "./server-sent-events.ts";

/** The place of a server. */
export interface HttpOptions {
  /** Base URL, for example `https://agents.example.com`. */
  readonly url: string;
  /** An API key. Default: none. */
  readonly key?: string | null | undefined;
  /**
   * The user for whom every request is: the key needs the scope `act-for-users`. Default: the user that the key is bound to, or
   * none.
   */
  readonly user?: string | undefined;
  /** The error to throw for a request that failed. Default: the {@link ClientError} itself. */
  readonly toError?: ((error: ClientError) => Error) | undefined;
}

/** A part of a tree's stream. */
export interface StreamOptions {
  /** Number of the last event the caller has. */
  readonly after: number;
  readonly deltas: boolean;
  readonly signal: AbortSignal;
}

interface HttpRequest extends Omit<RequestInit, "headers"> {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Requests to a Reeve server, based on `fetch` alone. */
export class Http {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #toError: (error: ClientError) => Error;

  constructor({ url, key = null, user, toError = (error) => error }: HttpOptions) {
    this.url = url.replace(/\/$/, "");
    this.#headers = {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(user !== undefined && { "x-reeve-user": user }),
    };
    this.#toError = toError;
  }

  async get(path: string, init: HttpRequest = {}): Promise<Json> {
    return this.#json(path, await this.#send(path, init));
  }

  async post(path: string, body: object): Promise<Json> {
    return this.#json(path, await this.#send(path, toJsonRequest("POST", body)));
  }

  async put(path: string, body: object): Promise<Json> {
    return this.#json(path, await this.#send(path, toJsonRequest("PUT", body)));
  }

  async patch(path: string, body: object): Promise<Json> {
    return this.#json(path, await this.#send(path, toJsonRequest("PATCH", body)));
  }

  async delete(path: string): Promise<Json> {
    return this.#json(path, await this.#send(path, { method: "DELETE" }));
  }

  /** Reads JSON lines, in pieces of any size. */
  async *lines(path: string): AsyncGenerator<string, void> {
    const { body } = await this.#open(path, {}, "application/x-ndjson");
    if (body) yield* readBodyText(body);
  }

  /** Reads a page of a list. */
  async list<Item>(path: string): Promise<Page<Item>> {
    const response = await this.#send(path, {});
    const page = await this.#json(path, response);
    if (!isJsonObject(page) || !Array.isArray(page["items"])) throw this.#foreign(path, response);
    return Json.as(page);
  }

  /** Sends an action to a run. */
  act(run: string, verb: string, body: object): Promise<Json> {
    return this.post(`/runs/${encodeURIComponent(run)}/${verb}`, body);
  }

  /** The messages of a tree's stream above number `after`, over one connection: the first is `open`. */
  async *stream(run: string, { after, deltas, signal }: StreamOptions): AsyncGenerator<SentEvent, void> {
    const path = `/runs/${encodeURIComponent(run)}/events?deltas=${deltas}`;
    const headers = { accept: "text/event-stream", "last-event-id": String(after) };
    const { body } = await this.#open(path, { headers, signal }, "text/event-stream");
    yield { event: "open", data: "" };
    if (body) yield* sentEvents(body);
  }

  /** Starts a tree and reads its stream from the beginning, over one connection. */
  async *watchStart(path: string, body: object): AsyncGenerator<SentEvent, void> {
    const { headers, ...init } = toJsonRequest("POST", body);
    const accept = { ...headers, accept: "text/event-stream" };
    const response = await this.#open(path, { ...init, headers: accept }, "text/event-stream");
    try {
      for await (const event of sentEvents(response.body ?? new ReadableStream())) {
        if (event.event === "end") return;
        yield event;
      }
    } catch {
      // Reported below: the connection broke, or the server closed it.
    }
    const message = `the connection to ${this.url} was lost`;
    throw this.#toError(new ClientError({ code: "unreachable", message, status: null, session: null }));
  }

  async #open(path: string, init: HttpRequest, media: string): Promise<Response> {
    const response = await this.#send(path, init);
    if (!mediaOf(response).startsWith(media)) throw this.#foreign(path, response);
    return response;
  }

  /** Reads an answer. @throws ClientError if it is not JSON: another program has the port. */
  async #json(path: string, response: Response): Promise<Json> {
    if (!mediaOf(response).startsWith("application/json")) throw this.#foreign(path, response);
    try {
      return Json.of(await response.json());
    } catch (error) {
      throw error instanceof SyntaxError ? this.#foreign(path, response) : error;
    }
  }

  async #send(path: string, init: HttpRequest): Promise<Response> {
    const headers = { ...init.headers, ...this.#headers };
    const response = await fetch(`${this.url}${path}`, { ...init, headers }).catch((cause: unknown) => {
      if (init.signal?.aborted) throw cause;
      const message = `no server answers at ${this.url}`;
      throw this.#toError(new ClientError({ code: "unreachable", message, status: null, session: null }));
    });
    if (response.ok) return response;
    const refusal = await readRefusal(response);
    throw refusal ? this.#toError(refusal) : this.#foreign(path, response);
  }

  #foreign(path: string, response: Response): Error {
    const { status } = response;
    const what = `${status} and ${mediaOf(response) || "no content type"}`;
    const message = `the server at ${this.url} is not Reeve: it answered ${path.split("?")[0]} with ${what}`;
    return this.#toError(new ClientError({ code: "not-reeve", message, status, session: null }));
  }
}

const toJsonRequest = (method: string, body: object): HttpRequest => ({
  method,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

const mediaOf = ({ headers }: Response): string => headers.get("content-type") ?? "";

/** Returns the refusal of a Reeve server; null: this is none. */
async function readRefusal(response: Response): Promise<ClientError | null> {
  const body: unknown = await response.json().catch(() => null);
  const error = isJsonObject(body) ? body["error"] : null;
  if (!isJsonObject(error) || typeof error["code"] !== "string") return null;
  const { code, message, session } = error;
  return new ClientError({
    code,
    message: typeof message === "string" ? message : `the server answered ${response.status}`,
    status: response.status,
    session: typeof session === "string" ? session : null,
  });
}
