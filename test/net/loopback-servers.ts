import { createServer, type RequestListener, type Server } from "node:http";
import { once } from "node:events";

/** A server of the test. Disposing it ends its connections. */
export interface LoopbackServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

/** Serves on an address of the loopback interface. Default: any free port of 127.0.0.1. */
export async function serveOn(
  listener: RequestListener,
  { host = "127.0.0.1", port = 0 }: { readonly host?: string; readonly port?: number } = {},
): Promise<LoopbackServer> {
  const server: Server = createServer(listener).listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const { port: bound } = address;
  return {
    port: bound,
    url: `http://${host}:${bound}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
