import { once } from "node:events";
import { type ServerHttp2Session, createServer } from "node:http2";
import { type EndpointOptions, createEndpointHandler } from "@restatedev/restate-sdk";
import type { RestateServer } from "reeve/engines/restate";

/** A worker without any of our code. */
export async function plainWorker(
  { admin }: RestateServer,
  services: EndpointOptions["services"],
): Promise<AsyncDisposable> {
  const sessions = new Set<ServerHttp2Session>();
  const worker = createServer(createEndpointHandler({ services, logger: () => {} }));
  worker.on("session", (session) => sessions.add(session));
  worker.listen({ host: "127.0.0.1", port: 0 });
  await once(worker, "listening");
  const address = worker.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const registered = await fetch(`${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
  });
  if (!registered.ok) throw new Error(await registered.text());
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(worker, "close");
      worker.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}
