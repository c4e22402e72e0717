import { once } from "node:events";
import { createServer } from "node:net";

/** Returns a free loopback port. */
export async function freePort(): Promise<number> {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  const address = holder.address();
  await once(holder.close(), "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
