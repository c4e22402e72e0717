import {
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  createServer,
} from "node:http2";
import { type Server, createServer as createListener } from "node:net";
import { type EndpointOptions, createEndpointHandler } from "@restatedev/restate-sdk";
import { systemClock, withTimeout } from "#base";
import { listenOn } from "./listen-on.ts";
import type { Log } from "../operations/log-record.ts";

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

const mostAbsent = 100;

/** The HTTP/2 endpoint through which Restate calls this process. */
export class Worker {
  /** Separate from the HTTP/2 server, which sends GOAWAY on every connection when it stops listening. */
  readonly #listener: Server;
  /** Restate's connections, each with the number of its open streams. */
  readonly #sessions = new Map<ServerHttp2Session, number>();
  readonly #path: string;
  readonly #log: Log;
  /** The builds that Restate requested here, each logged once. */
  readonly #absent = new Set<string>();
  #isDraining = false;
  #isClosing = false;

  constructor(options: {
    readonly services: EndpointOptions["services"];
    readonly logger: NonNullable<EndpointOptions["logger"]>;
    readonly log: Log;
    readonly identityKeys: readonly string[];
    /** The path that it serves. All other paths are of other builds. */
    readonly path: string;
  }) {
    this.#path = options.path;
    this.#log = options.log;
    const handler: Handler = createEndpointHandler({
      services: options.services,
      logger: (...line) => (this.#isClosing ? undefined : options.logger(...line)),
      identityKeys: [...options.identityKeys],
    });
    const server: Http2Server = createServer((request, response) => this.#answer(handler, request, response));
    server.on("session", (session) => this.#watch(session));
    this.#listener = createListener((socket) => server.emit("connection", socket));
  }

  /** Listens. Returns the address for the server to call. @throws StartupError */
  async listen(options: {
    readonly host: string;
    readonly port: number;
    readonly reusePort: boolean;
  }): Promise<string> {
    return (await listenOn(this.#listener, { ...options, option: "port" })) + this.#path;
  }

  /**
   * Stops taking work: Restate sends it to another worker, or waits for one. Resolves once everything that runs here
   * has ended, at the latest after `graceMs`.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#listener.listening) this.#listener.close();
    for (const session of this.#sessions.keys()) this.#windDown(session);
    const limits = { clock: systemClock, ms: graceMs, onTimeout: () => undefined };
    await withTimeout(limits, () => this.#waitForDisconnect());
  }

  /** Closes immediately. Running executions are lost here and continue elsewhere, or when a worker comes back. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#listener.listening) this.#listener.close();
    for (const session of this.#sessions.keys()) session.destroy();
    await this.#waitForDisconnect();
  }

  #watch(session: ServerHttp2Session): void {
    const count = (change: number): void => {
      this.#sessions.set(session, (this.#sessions.get(session) ?? 0) + change);
    };
    count(0);
    session.once("close", () => this.#sessions.delete(session));
    session.on("error", () => session.destroy());
    session.on("stream", (stream) => {
      count(1);
      stream.once("close", () => {
        if (!this.#sessions.has(session)) return;
        count(-1);
        if (this.#isDraining) this.#windDown(session);
      });
    });
    if (this.#isDraining) this.#windDown(session);
  }

  /**
   * Makes Restate open its next stream elsewhere, by allowing no more streams here. Restate also obeys GOAWAY, but then
   * drops the connection at its next stream, with everything that still runs on it.
   */
  #windDown(session: ServerHttp2Session): void {
    if (session.destroyed) return;
    if (this.#sessions.get(session) === 0) session.close();
    else session.settings({ maxConcurrentStreams: 0 });
  }

  /** Resolves when Restate has no connection to this worker. */
  async #waitForDisconnect(): Promise<void> {
    const closings = [...this.#sessions.keys()].map(
      (session) => new Promise<void>((resolve) => session.once("close", resolve)),
    );
    await Promise.all(closings);
    if (this.#sessions.size > 0) return this.#waitForDisconnect();
  }

  /** Handles a request. One for another build gets a 404, and Restate retries until that build is served again. */
  #answer(handler: Handler, request: Http2ServerRequest, response: Http2ServerResponse): void {
    if (request.url.startsWith(`${this.#path}/`)) return handler(request, response);
    response.writeHead(404);
    response.end();
    const build = /^\/v\/([\w.-]+)\//.exec(request.url)?.[1];
    if (build === undefined || this.#absent.has(build) || this.#absent.size === mostAbsent) return;
    this.#absent.add(build);
    this.#log({ level: "warn", message: `runs of build ${build} wait: serve it here again, or move them` });
  }
}
