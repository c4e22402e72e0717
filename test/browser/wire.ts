import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { portOf } from "../models/canned-server.ts";

/** The connection between a browser and a server: bytes pass unchanged until it is cut. */
export class Wire implements AsyncDisposable {
  readonly #server: Server;
  /** By socket: the browser's to the server's. */
  readonly #connections = new Map<Socket, Socket>();
  #state: "whole" | "silent" | "cut" = "whole";
  /** The first line of each request, such as `GET /runs HTTP/1.1`. */
  readonly requests: string[] = [];

  private constructor(port: number) {
    this.#server = createServer((near) => this.#open(near, port));
  }

  static async to(port: number): Promise<Wire> {
    const wire = new Wire(port);
    await once(wire.#server.listen(0, "127.0.0.1"), "listening");
    return wire;
  }

  get port(): number {
    return portOf(this.#server);
  }

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size;
  }

  /** Drops the server's responses, while requests still reach it. */
  silence(): void {
    this.#state = "silent";
    for (const [near, far] of this.#connections) far.unpipe(near);
  }

  /** Every connection breaks, and so does each new one. */
  cut(): void {
    this.#state = "cut";
    for (const near of this.#connections.keys()) near.resetAndDestroy();
  }

  /** Restores the wire for new connections. */
  mend(): void {
    this.#state = "whole";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await once(this.#server.close(), "close");
  }

  #open(near: Socket, port: number): void {
    if (this.#state === "cut") return void near.resetAndDestroy();
    const far = connect(port, "127.0.0.1");
    this.#connections.set(near, far);
    near.on("data", (bytes) => {
      const line = /^(?:GET|POST|PUT|PATCH|DELETE) \S+ HTTP\/1\.1/.exec(bytes.toString("latin1"));
      if (line) this.requests.push(line[0]);
    });
    near.pipe(far);
    if (this.#state === "whole") far.pipe(near);
    for (const end of [near, far])
      end
        .on("error", () => undefined)
        .once("close", () => {
          this.#connections.delete(near);
          near.destroy();
          far.destroy();
        });
  }
}
