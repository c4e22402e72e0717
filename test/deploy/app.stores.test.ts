import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { restateServer, type RestateServer } from "reeve/engines/restate";
import { fakeProvider, type FakeProvider } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../engines/restate/worker-process.ts";
import { freePort } from "../free-port.ts";
import { type PostgresServer, postgresServer } from "../stores/postgres-server.ts";

let server: RestateServer;
let postgres: PostgresServer;
let double: FakeProvider;
const processes: ChildProcess[] = [];

beforeAll(async () => {
  [server, postgres, double] = await Promise.all([
    restateServer(),
    postgresServer(),
    fakeProvider({ script: async () => ({ text: "In 1987." }) }),
  ]);
});

afterAll(async () => {
  for (const process of processes) process.kill("SIGKILL");
  await double.close();
  await server[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

test("the sample worker and server run with the manifests' settings, and end on SIGTERM", async () => {
  const [port, probePort, deltasPort, httpPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const shared = {
    NODE_ENV: "production",
    RESTATE_INGRESS: server.ingress,
    RESTATE_ADMIN: server.admin,
    DATABASE_URL: await postgres.database(),
    REEVE_KEY: randomBytes(32).toString("base64"),
    REEVE_KEY_PREVIOUS: "",
    OPENAI_BASE_URL: double.baseURL,
    OPENAI_API_KEY: "none",
  };
  const ports = { PORT: port, PROBE_PORT: probePort, DELTAS_PORT: deltasPort, DRAIN_MS: 20_000 };
  const worker = start("worker.ts", { ...shared, ...ports, WORKER_URL: `http://127.0.0.1:${port}` });
  const http = start("server.ts", { ...shared, PORT: httpPort, HOSTS: "api.example.com" });
  const url = `http://127.0.0.1:${httpPort}`;
  await eventually(() => answers(`http://127.0.0.1:${probePort}/ready`));
  await eventually(() => answers(`${url}/health`));

  const runs = `${url}/runs`;
  const body = JSON.stringify({ agent: "writer", input: "When was the pump built?" });
  const headers = { "content-type": "application/json" };
  expect((await fetch(runs, { method: "POST", headers, body })).status).toBe(401);
  const authorization = `Bearer ${await readOutput(start("key.ts", shared, ["acme", "read,run"]))}`;
  const accepted = await fetch(runs, { method: "POST", headers: { ...headers, authorization }, body });
  expect(accepted.status).toBe(202);
  const { treeId } = z.object({ treeId: z.string() }).parse(await accepted.json());
  await eventually(async () =>
    (await (await fetch(`${runs}/${treeId}`, { headers: { authorization } })).text()).includes('"completed"'),
  );

  expect(await Promise.all([worker, http].map(terminate))).toEqual([0, 0]);
});

function start(
  file: string,
  environment: Readonly<Record<string, string | number>>,
  given: readonly string[] = [],
): ChildProcess {
  const texts = Object.entries(environment).map(([name, value]) => [name, String(value)] as const);
  const child = spawn(process.execPath, ["--conditions=reeve-source", `deploy/app/${file}`, ...given], {
    env: { PATH: process.env["PATH"], ...Object.fromEntries(texts) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  return child;
}

/** Returns all output of a process, once it has ended. */
const readOutput = async ({ stdout }: ChildProcess): Promise<string> =>
  stdout ? (await text(stdout)).trim() : "";

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

async function terminate(child: ChildProcess): Promise<unknown> {
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  return (await exit)[0];
}
