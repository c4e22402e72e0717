// Trees started and watched over HTTP, on Restate and PostgreSQL: a worker, a server and the load are three processes.
// node --conditions=reeve-source bench/server.ts [seconds=10] [starts a second=30] [subscribers=200]
// With --cpu-prof before it, each of the three leaves a profile.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { type Agent, AgentId, createRuntime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { postgresStore } from "reeve/stores/postgres";
import { postgresServer } from "../test/stores/postgres-server.ts";
import { ProcessUse } from "./process-use.ts";
import { type Offer, ServerLoad } from "./server-load.ts";

/** Settings shared by the three processes. */
interface Given {
  readonly ingress: string;
  readonly admin: string;
  readonly connectionString: string;
  readonly auth: Parameters<typeof apiKeys>[0];
}

/** Works for about a second, and publishes progress. */
const writer: Agent = {
  id: AgentId.of("writer"),
  run: async (ctx) => {
    for (let n = 0; n < 5; n += 1) {
      await ctx.step("work", () => new Promise<number>((resolve) => setTimeout(() => resolve(n), 200)));
      await ctx.emit({ n });
    }
    return "done";
  },
};

/** Limits per key are not measured here, so they are raised. */
const limits = { requestsPerMinute: 1_000_000, subscribers: 10_000, subscribersPerKey: 10_000 };

const [role = "", ...rest] = process.argv.slice(2);
if (role === "worker" || role === "server") await serve(role, JSON.parse(rest[0] ?? ""));
else await measure(process.argv.slice(2).map(Number));

async function serve(as: "worker" | "server", given: Given): Promise<void> {
  const { ingress, admin, connectionString, auth } = given;
  const engine = restate({ ingress, admin, log: () => undefined });
  const store = await postgresStore({ connectionString });
  const runtime = createRuntime({ agents: [writer], engine, store });
  process.once("disconnect", () => process.exit());
  if (as === "worker") await runtime.serve({ port: 0 });
  const url = as === "worker" ? "" : (await listen({ runtime, port: 0, auth: apiKeys(auth), limits })).url;
  process.send?.(url);
}

async function measure([seconds = 10, perSecond = 30, subscribers = 200]: readonly number[]): Promise<void> {
  await using restateProcess = await restateServer();
  await using database = await postgresServer();
  const expiresAt = Date.now() + 3_600_000;
  const { key, record } = createApiKey({ tenant: "acme", scopes: ["admin"], expiresAt });
  const { ingress, admin } = restateProcess;
  const given: Given = { ingress, admin, connectionString: await database.database(), auth: [record] };
  const [worker] = await processOf("worker", given);
  const [server, url] = await processOf("server", given);
  const use = new ProcessUse({
    worker: worker.pid ?? 0,
    server: server.pid ?? 0,
    restate: restateProcess.pid,
    postgres: Number(readFileSync(`${database.folder}/postmaster.pid`, "utf8").split("\n", 1)[0]),
  });
  const offer: Offer = { url, key, seconds, perSecond, subscribers };
  const loadBefore = loadavg()[0]?.toFixed(1);
  const figures = await new ServerLoad(offer).run();
  const loadAfter = loadavg()[0]?.toFixed(1);
  // Gives the garbage collector time.
  await delay(5_000);
  console.dir({ offered: { seconds, perSecond, subscribers }, loadBefore, loadAfter, ...figures });
  console.table(use.finish());
  const ended = [worker, server].map((child) => once(child, "exit"));
  for (const child of [worker, server]) child.disconnect();
  await Promise.all(ended);
}

async function processOf(as: "worker" | "server", given: Given): Promise<readonly [ChildProcess, string]> {
  const child = fork(import.meta.filename, [as, JSON.stringify(given)]);
  const [url] = await once(child, "message");
  return [child, String(url)];
}
