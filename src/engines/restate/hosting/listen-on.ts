import { once } from "node:events";
import type { Server } from "node:net";
import { StartupError } from "../operations/startup-error.ts";

/** Where to listen, and the option that says so. */
export interface ListenOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly reusePort?: boolean;
  readonly option: "port" | "probePort";
}

/** Returns where that is, as a URL. @throws StartupError */
export async function listenOn(
  server: Server,
  { host, port, reusePort = false, option }: ListenOptions,
): Promise<string> {
  server.listen({ host, port, reusePort });
  await once(server, "listening").catch((error: unknown) => {
    throw StartupError.cannotListen({ host, port, option }, error);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  return `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
}
