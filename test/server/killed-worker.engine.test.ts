import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type NumberedEvent } from "reeve";
import { restate, restateServer, type RestateServer } from "reeve/engines/restate";
import { sqliteStore } from "reeve/stores/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../free-port.ts";
import { TestServer } from "./test-server.ts";
import { stopAt, teller } from "./fixtures/teller.ts";
import { type Message, Subscription } from "./sse.ts";

let server: RestateServer;
let folder: string;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  server = await restateServer();
  folder = await mkdtemp(join(tmpdir(), "reeve-server-"));
});

afterAll(async () => {
  for (const worker of workers) worker.kill("SIGKILL");
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function serve(port: number, path: string, how: "stops" | "goes on"): Promise<ChildProcess> {
  const script = join(import.meta.dirname, "fixtures/teller-worker.ts");
  const given = [server.ingress, server.admin, String(port), path, how];
  const worker = fork(script, given, { execArgv: ["--conditions=reeve-source"] });
  workers.push(worker);
  await once(worker, "message");
  return worker;
}

const messagesWithId = (messages: readonly Message[]): readonly Message[] =>
  messages.filter(({ id }) => id !== null);

test("two watches of a tree, one over a breaking connection, miss and repeat no event when its worker is killed", async () => {
  const path = join(folder, "store.sqlite");
  const port = await freePort();
  const engine = restate({ ingress: server.ingress, admin: server.admin, log: () => undefined });
  const store = await sqliteStore({ path });
  const runtime = createRuntime({ agents: [teller(false)], engine, store });
  await using site = await TestServer.open({ runtime });
  const first = await serve(port, path, "stops");
  const stuck = once(first, "message");
  expect((await site.post("/runs", { agent: "teller", input: "tell", id: "tale" })).status).toBe(202);
  const url = `${site.url}/runs/tale/events`;
  const key = site.keys.acme.read;
  const steady = await Subscription.to(url, { key });
  const broken = await Subscription.to(url, { key });
  await stuck;
  const before = messagesWithId(
    await broken.readUntil((messages) => messages.some(({ data }) => data.includes(`"n":${stopAt - 1}`))),
  );
  await broken.drop();
  const ended = once(first, "exit");
  first.kill("SIGKILL");
  await ended;
  const again = await Subscription.to(url, { key, headers: { "last-event-id": before.at(-1)?.id ?? "" } });
  await serve(port, path, "goes on");
  const [watched, after] = [
    messagesWithId(await steady.readToEnd()),
    messagesWithId(await again.readToEnd()),
  ];
  const whole: NumberedEvent[] = [];
  for await (const event of runtime.run("tale", { tenant: "acme" }).events()) whole.push(event);
  const told = whole.filter(({ type }) => type === "progress.emitted");
  expect(told.length).toBe(40);
  expect(watched.map(({ data }): unknown => JSON.parse(data))).toEqual(whole);
  expect([...before, ...after].map(({ data }): unknown => JSON.parse(data))).toEqual(whole);
});
