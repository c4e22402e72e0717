import { once } from "node:events";
import { type Http2Server, type ServerHttp2Session, createServer } from "node:http2";
import { Agent, request } from "node:http";
import type { AddressInfo } from "node:net";
import { type EndpointOptions, createEndpointHandler } from "@restatedev/restate-sdk";
import type { RestateServer } from "reeve/engines/restate";

/** A hand-written worker, for comparison with ours. */
export class BareWorker implements AsyncDisposable {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #ingress: URL;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  private constructor(ingress: string, server: Http2Server) {
    this.#ingress = new URL(ingress);
    this.#server = server;
    server.on("session", (session) => this.#sessions.add(session));
  }

  static async start(
    { ingress, admin }: RestateServer,
    services: (worker: () => BareWorker) => EndpointOptions["services"],
  ): Promise<BareWorker> {
    const handler = createEndpointHandler({ services: services(() => worker), logger: () => {} });
    const worker = new BareWorker(ingress, createServer(handler));
    worker.#server.listen({ host: "127.0.0.1", port: 0 });
    await once(worker.#server, "listening");
    const { port } = worker.#server.address() as AddressInfo;
    const registered = await fetch(`${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
    });
    if (!registered.ok) throw new Error(await registered.text());
    return worker;
  }

  /** Calls a handler through the ingress over persistent connections. */
  async call(path: string, argument: unknown): Promise<unknown> {
    const body = JSON.stringify(argument);
    const sent = request({
      host: this.#ingress.hostname,
      port: this.#ingress.port,
      path,
      method: "POST",
      agent: this.#agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
    });
    const answered = Promise.withResolvers<string>();
    sent.once("error", answered.reject);
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.once("error", answered.reject);
      response.once("end", () =>
        response.statusCode === 200
          ? answered.resolve(text)
          : answered.reject(new Error(`${path}: ${response.statusCode} ${text}`)),
      );
    });
    sent.end(body);
    const text = await answered.promise;
    return text === "" ? null : (JSON.parse(text) as unknown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}
