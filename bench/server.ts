// Trees started and watched over HTTP, on Restate and PostgreSQL: a worker, a server and the load are three processes.
// node --conditions=reeve-source bench/server.ts [seconds=10] [starts a second=30] [subscribers=200]
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent as Sockets, request } from "node:http";
import { type Agent, AgentId, createRuntime } from "reeve";
import { restate, restateServer } from "reeve/engines/restate";
import { apiKeys, createApiKey, listen } from "reeve/server";
import { postgresStore } from "reeve/stores/postgres";
import { postgresServer } from "../test/stores/postgres-server.ts";
import { atPercent, cpuMs, median } from "./restate/measure.ts";

/** What the three share. */
interface Given {
  readonly ingress: string;
  readonly admin: string;
  readonly connectionString: string;
  readonly auth: Parameters<typeof apiKeys>[0];
}

/** Works for about a second, and tells of it. */
const clerk: Agent = {
  id: AgentId.of("clerk"),
  run: async (ctx) => {
    for (let n = 0; n < 5; n += 1) {
      await ctx.step("work", () => new Promise<number>((resolve) => setTimeout(() => resolve(n), 200)));
      await ctx.emit({ n });
    }
    return "done";
  },
};

/** How long what was begun may take to end. */
const endS = 60;

const [role = "", ...rest] = process.argv.slice(2);
if (role === "worker" || role === "server") await serve(role, JSON.parse(rest[0] ?? ""));
else await load(process.argv.slice(2).map(Number));

async function serve(as: "worker" | "server", given: Given): Promise<void> {
  const { ingress, admin, connectionString, auth } = given;
  const engine = restate({ ingress, admin, log: () => undefined });
  const store = await postgresStore({ connectionString });
  const runtime = createRuntime({ agents: [clerk], engine, store });
  process.once("disconnect", () => process.exit());
  if (as === "worker") await runtime.serve({ port: 0 });
  const limits = { requestsPerMinute: 1_000_000, subscribers: 10_000, subscribersPerKey: 10_000 };
  const url = as === "worker" ? "" : (await listen({ runtime, port: 0, auth: apiKeys(auth), limits })).url;
  process.send?.(url);
}

async function load([seconds = 10, perSecond = 30, subscribers = 200]: readonly number[]): Promise<void> {
  await using server = await restateServer();
  await using database = await postgresServer();
  const { key, record } = createApiKey({
    tenant: "acme",
    scopes: ["admin"],
    expiresAt: Date.now() + 3_600_000,
  });
  const connectionString = await database.database();
  const given: Given = { ingress: server.ingress, admin: server.admin, connectionString, auth: [record] };
  const [worker] = await processOf("worker", given);
  const [front, url] = await processOf("server", given);
  const before = { worker: cpuMs(worker.pid ?? 0), front: cpuMs(front.pid ?? 0), at: performance.now() };
  const figures = await drive({ url, key, seconds, perSecond, subscribers });
  const tookMs = performance.now() - before.at;
  const share = (pid: number, since: number): string =>
    `${(((cpuMs(pid) - since) / tookMs) * 100).toFixed(0)} %`;
  console.log({
    ...figures,
    workerCpu: share(worker.pid ?? 0, before.worker),
    serverCpu: share(front.pid ?? 0, before.front),
    serverMb: Math.round(memoryMb(front.pid ?? 0)),
  });
  const ended = [worker, front].map((child) => once(child, "exit"));
  for (const child of [worker, front]) child.kill("SIGKILL");
  await Promise.all(ended);
}

async function processOf(as: "worker" | "server", given: Given): Promise<readonly [ChildProcess, string]> {
  const child = fork(import.meta.filename, [as, JSON.stringify(given)]);
  const [url] = await once(child, "message");
  return [child, String(url)];
}

interface Load {
  readonly url: string;
  readonly key: string;
  readonly seconds: number;
  readonly perSecond: number;
  readonly subscribers: number;
}

/** Starts as many trees a second as it is told to; each is watched by as many as it takes to keep the number of subscribers. */
async function drive({ url, key, seconds, perSecond, subscribers }: Load): Promise<object> {
  const sockets = new Sockets({ keepAlive: true, maxSockets: 64 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const startMs: number[] = [];
  const lagMs: number[] = [];
  const statuses: Record<string, number> = {};
  let [open, most, whole, broken] = [0, 0, 0, 0];
  const watches: Promise<void>[] = [];

  const watch = async (tree: string): Promise<void> => {
    open += 1;
    most = Math.max(most, open);
    const { status, seen, lags } = await follow(`${url}/runs/${tree}/events`, headers);
    open -= 1;
    lagMs.push(...lags);
    const isWhole = status === 200 && seen.length > 5 && seen.every((id, index) => id === index + 1);
    if (isWhole) whole += 1;
    else broken += 1;
  };
  const start = async (): Promise<void> => {
    const began = performance.now();
    const body = JSON.stringify({ agent: "clerk", input: "work" });
    const { status, text } = await post(`${url}/runs`, { headers, agent: sockets, body });
    startMs.push(performance.now() - began);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== 202) return;
    const { treeId } = JSON.parse(text) as { treeId: string };
    for (let missing = Math.max(1, subscribers - open); missing > 0; missing -= Math.ceil(perSecond / 2))
      watches.push(watch(treeId));
  };
  const starts: Promise<void>[] = [];
  const began = performance.now();
  for (let n = 0; n < seconds * perSecond; n += 1) {
    const due = began + (n / perSecond) * 1000;
    if (due > performance.now()) await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
    starts.push(start());
  }
  await Promise.all(starts);
  const startedS = (performance.now() - began) / 1000;
  await Promise.race([
    Promise.all(watches),
    new Promise((resolve) => setTimeout(resolve, endS * 1000).unref()),
  ]);
  sockets.destroy();
  return {
    starts: statuses,
    perSecond: Number((startMs.length / startedS).toFixed(1)),
    startP50Ms: rounded(startMs, 50),
    startP95Ms: rounded(startMs, 95),
    eventP50Ms: rounded(lagMs, 50),
    eventP95Ms: rounded(lagMs, 95),
    subscribersAtMost: most,
    streamsWhole: whole,
    streamsBroken: broken,
    streamsUnfinished: open,
  };
}

function rounded(values: readonly number[], at: number): number {
  return Math.round(at === 50 ? median(values) : atPercent(values, at));
}

/** Reads a stream to its end: the ids of its events, and how late each was. */
async function follow(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly seen: readonly number[]; readonly lags: readonly number[] }> {
  const sent = request(url, { headers, agent: false });
  sent.end();
  const [response] = await once(sent, "response");
  const [seen, lags]: [number[], number[]] = [[], []];
  let text = "";
  for await (const part of response) {
    text += String(part);
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const id = /^id: (\d+)$/m.exec(block)?.[1];
      if (id === undefined) continue;
      seen.push(Number(id));
      lags.push(Date.now() - Number(/"at":(\d+)/.exec(block)?.[1]));
    }
  }
  return { status: response.statusCode, seen, lags };
}

async function post(
  url: string,
  {
    body,
    ...options
  }: { readonly headers: Readonly<Record<string, string>>; readonly agent: Sockets; readonly body: string },
): Promise<{ readonly status: number; readonly text: string }> {
  const sent = request(url, { ...options, method: "POST" });
  sent.end(body);
  const [response] = await once(sent, "response");
  let text = "";
  for await (const part of response) text += String(part);
  return { status: response.statusCode, text };
}

function memoryMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
