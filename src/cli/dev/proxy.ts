import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { CliError } from "../cli-error.ts";
import { ExitCode } from "../exit-code.ts";

/** One address for whichever build is the newest. */
export class Proxy {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** @throws CliError if somebody has the port. */
  static async listen(port: number, target: () => string | null): Promise<Proxy> {
    const server = createServer((incoming, outgoing) => forward(incoming, outgoing, target()));
    server.listen(port, "127.0.0.1");
    await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") throw error;
      throw new CliError(`port ${port} is taken by another program`, {
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

function forward(incoming: IncomingMessage, outgoing: ServerResponse, target: string | null): void {
  if (target === null) return unavailable(outgoing);
  const { method, url = "/", headers } = incoming;
  // The path is joined as text: whatever it says, it goes to no other host.
  const onward = request(`${target}${url.startsWith("/") ? url : "/"}`, { method, headers });
  onward.on("response", (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    pipeline(answer, outgoing, () => undefined);
  });
  onward.on("error", () => (outgoing.headersSent ? outgoing.destroy() : unavailable(outgoing)));
  outgoing.on("close", () => onward.destroy());
  pipeline(incoming, onward, () => undefined);
}

function unavailable(outgoing: ServerResponse): void {
  const error = { code: "overloaded", message: "no worker is ready yet" };
  outgoing.writeHead(503, { "content-type": "application/json", "retry-after": "1" });
  outgoing.end(JSON.stringify({ error }));
}
