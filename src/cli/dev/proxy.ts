import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";

/** The newest build, as far as the proxy needs it. */
export interface ProxyTarget {
  /** The address of its server; null: none serves. */
  readonly url: string | null;
  /** The reason why the code does not load; null: it does. */
  readonly failure: string | null;
}

/** One address that always leads to the newest build. */
export class Proxy {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** @throws CliError if the port is in use. */
  static async listen(port: number, target: () => ProxyTarget): Promise<Proxy> {
    const server = createServer((incoming, outgoing) => forward(incoming, outgoing, target()));
    server.listen(port, "127.0.0.1");
    await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") throw error;
      throw new CliError(`port ${port} is in use by another program`, {
        code: "port-in-use",
        exitCode: ExitCode.refused,
        hint: `reeve dev --port ${port + 1}`,
      });
    });
    const address = server.address();
    return new Proxy(server, typeof address === "object" && address ? address.port : port);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, target: ProxyTarget): void {
  const { method, url = "/", headers } = incoming;
  const refuse = (): void =>
    headers.accept?.includes("text/html") ? showLoading(outgoing, target.failure) : sendUnavailable(outgoing);
  if (target.url === null) return refuse();
  // The path is appended as text, so it cannot change the host.
  const onward = request(`${target.url}${url.startsWith("/") ? url : "/"}`, { method, headers });
  onward.on("response", (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, outgoing, () => undefined);
  });
  onward.on("error", () => (outgoing.headersSent ? outgoing.destroy() : refuse()));
  outgoing.on("close", () => onward.destroy());
  pipeline(incoming, onward, () => undefined);
}

function sendUnavailable(outgoing: ServerResponse): void {
  const error = { code: "overloaded", message: "no worker is ready yet" };
  outgoing.writeHead(503, { "content-type": "application/json", "retry-after": "1" });
  outgoing.end(JSON.stringify({ error }));
}

/** Shows a page until the first worker is ready. The page reloads itself. */
function showLoading(outgoing: ServerResponse, failure: string | null): void {
  const text = failure === null ? "reeve dev is loading …" : `The code does not load:\n\n${failure}`;
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  outgoing.writeHead(503, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "retry-after": "1",
    refresh: "1",
  });
  outgoing.end(`<!doctype html><title>reeve dev</title><pre>${escaped}</pre>\n`);
}
