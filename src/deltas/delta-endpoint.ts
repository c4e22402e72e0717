import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock, Seal } from "#kernel";
import type { DeltaHub } from "./delta-hub.ts";
import { isProof } from "./proof.ts";
import { TreeReaders } from "./tree-readers.ts";

/** Options of a worker's endpoint for subscribers. */
export interface DeltaEndpointOptions {
  /** The address of this machine to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** The URL for other machines: `http://10.0.0.7:9082`. All data is sealed. Default: by host and port. */
  readonly url?: string;
  /** Maximum number of concurrent subscribers. Further ones are refused. Default: 1,000. */
  readonly maxReaders?: number;
}

/** The dependencies of an endpoint. */
export interface EndpointDeps {
  readonly hub: DeltaHub;
  readonly clock: Clock;
  /** The worker's id. */
  readonly worker: string;
  readonly sealer: (key: string) => Promise<Seal>;
}

const beatMs = 10_000;

/**
 * Serves the hub's pieces to subscribers in other processes. Its URL has a secret part, known only through the list of
 * workers, so that a stranger cannot even trigger a key lookup. A subscriber proves that it has the key of the tree.
 */
export class DeltaEndpoint {
  readonly url: string;
  readonly #host: EndpointDeps;
  readonly #path: string;
  readonly #server: Server;
  readonly #maxReaders: number;
  readonly #trees = new Map<string, TreeReaders>();
  #readers = 0;
  #disarm: () => void;

  private constructor(
    host: EndpointDeps,
    server: Server,
    place: { readonly url: string; readonly path: string; readonly maxReaders: number },
  ) {
    this.#host = host;
    this.#server = server;
    this.#path = place.path;
    this.url = place.url + place.path;
    this.#maxReaders = place.maxReaders;
    this.#disarm = this.#beatLater();
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async listen(host: EndpointDeps, options: DeltaEndpointOptions): Promise<DeltaEndpoint> {
    const { host: address = "127.0.0.1", port = 0, maxReaders = 1_000 } = options;
    if (options.url !== undefined && URL.parse(options.url)?.protocol !== "http:")
      throw new TypeError(`the url of deltas must be like http://10.0.0.7:9082, got ${options.url}`);
    // A subscriber's request stays open as long as it reads.
    const server = createServer({ requestTimeout: 0, headersTimeout: 5_000, maxHeaderSize: 8_192 });
    server.maxConnections = maxReaders + 100;
    server.listen({ host: address, port });
    await once(server, "listening");
    const bound = server.address();
    const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
    const url = options.url ?? `http://${address.includes(":") ? `[${address}]` : address}:${boundPort}`;
    const path = `/deltas/${randomBytes(18).toString("base64url")}`;
    return new DeltaEndpoint(host, server, { url: url.replace(/\/$/, ""), path, maxReaders });
  }

  async close(): Promise<void> {
    this.#disarm();
    for (const tree of this.#trees.values()) tree.close();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on("error", () => response.destroy());
    response.on("error", () => response.destroy());
    const asked = URL.parse(request.url ?? "", "http://worker");
    const key = asked?.searchParams.get("tree") ?? null;
    if (asked?.pathname !== this.#path || key === null) return refuseConnection(response, 404);
    if (this.#readers >= this.#maxReaders) return refuseConnection(response, 503);
    this.#readers += 1;
    response.once("close", () => (this.#readers -= 1));
    const sealer = await this.#proven(key, request.headers.authorization ?? "");
    if (!sealer) return refuseConnection(response, 401);
    if (!response.destroyed) this.#admit(key, sealer, { request, response });
  }

  /** Returns the seal of the tree, if the subscriber has proved that it has the key. Null otherwise. */
  async #proven(key: string, proof: string): Promise<Seal | null> {
    const { sealer, worker, clock } = this.#host;
    const seal = await sealer(key).catch(() => null);
    return seal && isProof(seal, proof, { worker, at: clock.now() }) ? seal : null;
  }

  #admit(
    key: string,
    sealer: Seal,
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  ): void {
    const { hub, clock } = this.#host;
    response.writeHead(200, { "content-type": "application/octet-stream", connection: "close" });
    response.flushHeaders();
    const readers = this.#trees.get(key) ?? new TreeReaders(key, sealer, { hub, clock });
    this.#trees.set(key, readers);
    const { leave, remove } = readers.add(response);
    // A subscriber that ends its request has seen the tree end, and still gets the remaining pieces.
    request.once("end", leave).resume();
    response.once("close", () => {
      remove();
      if (readers.isEmpty) this.#drop(key, readers);
    });
  }

  #drop(key: string, readers: TreeReaders): void {
    readers.close();
    if (this.#trees.get(key) === readers) this.#trees.delete(key);
  }

  /** Sends heartbeats. Disconnects subscribers of a tree whose key is destroyed. */
  async #beat(): Promise<void> {
    for (const [key, readers] of this.#trees) {
      const sealer = await this.#host.sealer(key).catch(() => null);
      if (sealer && !sealer.isErased) readers.beat(sealer);
      else this.#drop(key, readers);
    }
  }

  #beatLater(): () => void {
    const { clock } = this.#host;
    return clock.callAt(clock.now() + beatMs, () => {
      this.#disarm = this.#beatLater();
      void this.#beat();
    });
  }
}

function refuseConnection(response: ServerResponse, status: 401 | 404 | 503): void {
  response.writeHead(status, { connection: "close" });
  response.end();
}
