import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** The ports below those that the system itself gives to connections and to servers without a port. */
const [first, last] = [15_000, 32_000];

/**
 * Returns a free loopback port. The system gives it to no one else, so it is still free when a process that was told about it
 * listens there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last);
    const holder = createServer();
    const isFree = new Promise<boolean>((resolve) => {
      holder.once("listening", () => resolve(true)).once("error", () => resolve(false));
    });
    holder.listen(port, "127.0.0.1");
    if (!(await isFree)) continue;
    await once(holder.close(), "close");
    return port;
  }
}
