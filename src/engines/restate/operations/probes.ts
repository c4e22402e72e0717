import { once } from "node:events";
import { type Server, type ServerResponse, createServer } from "node:http";
import { type Gauges, prometheus } from "./gauges.ts";
import { listenOn } from "../hosting/listen-on.ts";

/** The source of the probes' answers. */
export interface ProbeSubject {
  gauges(): Gauges;
  /** Returns the reason why no work should be sent here now. Null: it should. */
  blocker(): Promise<string | null>;
}

/**
 * Serves `/health`, `/ready` and `/metrics`. A separate server, because Restate uses HTTP/2 without TLS on the worker's
 * port and probes use HTTP/1.1, which Node cannot serve on one port.
 */
export class Probes {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(
    subject: ProbeSubject,
    { host, port }: { readonly host: string; readonly port: number },
  ): Promise<Probes> {
    const server = createServer(
      (request, response) => void answerProbe(subject, request.url ?? "", response),
    );
    return new Probes(server, await listenOn(server, { host, port, option: "probePort" }));
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

async function answerProbe(subject: ProbeSubject, path: string, response: ServerResponse): Promise<void> {
  if (path === "/health") return json(response, 200, { alive: true });
  if (path === "/metrics") {
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4" });
    return void response.end(prometheus(subject.gauges()));
  }
  if (path !== "/ready") return json(response, 404, { paths: ["/health", "/ready", "/metrics"] });
  const reason = await subject.blocker();
  return json(response, reason === null ? 200 : 503, { ready: reason === null, reason });
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
}
