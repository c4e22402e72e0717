import { once } from "node:events";
import type { Server } from "node:net";
import { StartupError } from "../operations/startup-error.ts";

/** The address to listen on, and the option that sets it. */
export interface ListenOptions {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly reusePort?: boolean;
  readonly option: "port" | "probePort";
}

/** Listens. Returns the address as a URL. @throws StartupError */
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
