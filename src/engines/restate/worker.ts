import { once } from "node:events";
import { type Http2Server, type ServerHttp2Session, createServer } from "node:http2";
import {
  type EndpointOptions,
  type LogMetadata,
  RetryableError,
  TerminalError,
  createEndpointHandler,
} from "@restatedev/restate-sdk";
import type { Admin } from "./admin.ts";

const host = "127.0.0.1";

/** The HTTP/2 endpoint through which Restate executes what this process offers. On loopback only. */
export class Worker {
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  #closing = false;

  private constructor(server: Http2Server) {
    this.#server = server;
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
      session.on("error", () => session.destroy());
    });
  }

  /** Listens, then registers itself with the server's admin. */
  static async start(options: {
    readonly services: EndpointOptions["services"];
    readonly admin: Admin;
    readonly port: number;
    readonly sharePort: boolean;
    readonly log: (line: string) => void;
  }): Promise<Worker> {
    const log = (line: string): void => (worker.#closing ? undefined : options.log(line));
    const handler = createEndpointHandler({ services: options.services, logger: transport(log) });
    const worker = new Worker(createServer(handler));
    try {
      const port = await worker.#listen(options.port, options.sharePort);
      await options.admin.register(`http://${host}:${port}`);
      return worker;
    } catch (error) {
      await worker.close();
      throw error;
    }
  }

  /** Ends at once: what runs here is lost and goes on elsewhere, or when a worker comes back. */
  async close(): Promise<void> {
    this.#closing = true;
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  async #listen(port: number, sharePort: boolean): Promise<number> {
    this.#server.listen({ host, port, reusePort: sharePort });
    await once(this.#server, "listening");
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }
}

/** Keeps what an operator must know: failures that Restate will retry. Not business errors, not routine. */
function transport(log: (line: string) => void) {
  return (meta: LogMetadata, message?: unknown, ...details: readonly unknown[]): void => {
    const level: string = meta.level;
    const source: string = meta.source;
    const urgent = level === "error" || (level === "warn" && source === "JOURNAL");
    if (!urgent || details.some(isExpected)) return;
    // An execution that was left behind may still ask for things: it is never answered.
    if (String(message).startsWith("DANGER!")) return;
    const reasons = details.map((detail) => (detail instanceof Error ? detail.stack : String(detail)));
    log([`restate ${meta.context?.invocationTarget ?? ""}:`, String(message).trim(), ...reasons].join(" "));
  };
}

function isExpected(detail: unknown): boolean {
  return detail instanceof TerminalError || detail instanceof RetryableError;
}
