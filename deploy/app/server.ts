import { hash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { createRuntime } from "reeve";
import { restate } from "reeve/engines/restate";
import { clerk } from "./agents.ts";
import { number, openStore, restateAt, setting } from "./environment.ts";

// The smallest thing that starts runs and tells of them, for one who has the token.
const runtime = createRuntime({ agents: [clerk], engine: restate(restateAt()), store: await openStore() });
const token = hash("sha256", `Bearer ${setting("API_TOKEN")}`, "buffer");

const mayEnter = ({ headers }: IncomingMessage): boolean =>
  timingSafeEqual(hash("sha256", headers.authorization ?? "", "buffer"), token);

async function answer(request: IncomingMessage): Promise<readonly [status: number, body: object]> {
  const { method, url = "/", headers } = request;
  if (url === "/health") return [200, { ok: true }];
  if (!mayEnter(request)) return [401, { error: "unauthorized" }];
  if (method === "POST" && url === "/runs") {
    const traceparent = String(headers["traceparent"] ?? "");
    const run = await runtime.start(clerk, await text(request), { traceparent });
    return [202, { id: run.treeId }];
  }
  const id = /^\/runs\/([^/]+)$/.exec(url)?.[1];
  if (method !== "GET" || id === undefined) return [404, { error: "not found" }];
  const run = runtime.run(decodeURIComponent(id));
  return [200, { id, status: await run.status() }];
}

const server = createServer((request, response) => {
  void answer(request)
    .catch(() => [500, { error: "failed" }] as const)
    .then(([status, body]) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    });
});
server.listen(number("PORT", 3000), process.env["HOST"] ?? "127.0.0.1");
process.once("SIGTERM", () => server.close(() => process.exit()));
