import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { portOf } from "../models/canned-server.ts";

/** What lies between a browser and a server: bytes go through as they are, until it is cut. */
export class Wire implements AsyncDisposable {
  readonly #server: Server;
  /** By their ends: the browser's, and the server's. */
  readonly #connections = new Map<Socket, Socket>();
  #state: "whole" | "silent" | "cut" = "whole";

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

  /** The server hears, and is not heard any more. */
  silence(): void {
    this.#state = "silent";
    for (const [near, far] of this.#connections) far.unpipe(near);
  }

  /** Every connection breaks, and so does each new one. */
  cut(): void {
    this.#state = "cut";
    for (const near of this.#connections.keys()) near.resetAndDestroy();
  }

  /** For connections that are made from now on. */
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
