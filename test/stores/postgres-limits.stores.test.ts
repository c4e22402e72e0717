import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { Client } from "pg";
import { postgresStore } from "reeve/stores/postgres";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Partition, TreeId } from "#kernel";
import { type PostgresServer, postgresServer } from "./postgres-server.ts";

let server: PostgresServer;

beforeAll(async () => {
  server = await postgresServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const acme = Partition.of("acme");
const tree = TreeId.of("books");

/** A session of its own, which can hold locks. */
async function session(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test("a statement that waits for a lock is ended, and its connection serves the next caller", async () => {
  const url = await server.database();
  await using store = await postgresStore({
    connectionString: url,
    maxConnections: 1,
    statementTimeoutMs: 200,
  });
  const other = await session(url);
  await other.query("begin; lock table reeve_run in access exclusive mode");
  await expect(store.runs.tree(acme, tree)).rejects.toMatchObject({ code: "57014" });
  await other.query("rollback");
  expect(await store.runs.tree(acme, tree)).toEqual([]);
});

test("the migrations of a database have no time limit, also where its role has one", async () => {
  const url = await server.database();
  await server.query("alter role reeve set statement_timeout = 100");
  onTestFinished(async () => void (await server.query("alter role reeve reset statement_timeout")));
  const other = await session(url);
  await other.query("select pg_advisory_lock(7233383)");
  const opened = postgresStore({ connectionString: url, statementTimeoutMs: 100 });
  const waiting = `select 1 from pg_stat_activity
    where wait_event = 'advisory' and clock_timestamp() - query_start > interval '500 milliseconds'`;
  const settled = new AbortController();
  const outcome = opened
    .then(
      () => "opened",
      (error: unknown) => String(error),
    )
    .finally(() => settled.abort());
  const isWaiting = async (): Promise<boolean> => (await server.query(waiting, url)).length === 1;
  while (!settled.signal.aborted && !(await isWaiting()));
  await other.query("select pg_advisory_unlock(7233383)");
  expect(await outcome).toBe("opened");
  await (await opened)[Symbol.asyncDispose]();
});

interface Proxy {
  readonly url: string;
  /** Keeps silent on the connections that are open. */
  readonly silence: () => void;
  /** Ends the connections that are open, and refuses further ones. */
  readonly refuse: () => Promise<void>;
  /** Accepts connections again. */
  readonly accept: () => Promise<void>;
}

/** Forwards connections to a server. */
async function proxy(url: string): Promise<Proxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const listener = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
    near.pipe(far).pipe(near);
  });
  const accept = async (at = 0): Promise<void> =>
    void (await once(listener.listen(at, "127.0.0.1"), "listening"));
  const refuse = async (): Promise<void> => {
    const closed = once(listener.close(), "close");
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await accept();
  onTestFinished(() => refuse());
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  const { port } = address;
  return {
    url: Object.assign(new URL(url), { port }).href,
    silence: () => {
      for (const socket of sockets) socket.unpipe().resume();
    },
    refuse,
    accept: () => accept(port),
  };
}

test("a database that refuses connections for a moment fails no work", async () => {
  const { url, refuse, accept } = await proxy(await server.database());
  await using store = await postgresStore({ connectionString: url });
  expect(await store.runs.tree(acme, tree)).toEqual([]);
  /** Connects a few times, in vain. Meanwhile the store notices that it is refused, too. */
  const expectRefused = async (): Promise<void> => {
    for (let tries = 0; tries < 10; tries++)
      await expect(once(connect(Number(new URL(url).port), "127.0.0.1"), "connect")).rejects.toMatchObject({
        code: "ECONNREFUSED",
      });
  };
  await refuse();
  await expectRefused();
  const read = store.runs.tree(acme, tree);
  await expectRefused();
  await accept();
  expect(await read).toEqual([]);
});

test("a connection whose server has gone silent is given up, and the work is done on another", async () => {
  const url = await server.database();
  const { url: through, silence } = await proxy(url);
  await using store = await postgresStore({
    connectionString: through,
    maxConnections: 1,
    statementTimeoutMs: 100,
  });
  expect(await store.runs.tree(acme, tree)).toEqual([]);
  silence();
  expect(await store.runs.tree(acme, tree)).toEqual([]);
});

test("work that keeps being chosen to make way is repeated with pauses between the tries", async () => {
  const url = await server.database();
  await using store = await postgresStore({ connectionString: url });
  await server.query("create sequence tries; grant usage on sequence tries to reeve", url);
  await server.query(
    `create function make_way() returns trigger language plpgsql as $$ begin
       perform nextval('tries');
       raise exception 'make way' using errcode = '40001';
     end $$;
     create trigger make_way before insert on reeve_worker execute function make_way()`,
    url,
  );
  const began = performance.now();
  const record = {
    id: "w",
    url: "http://10.0.0.7:9082",
    expiresAt: 2_000,
    lagMs: 0,
    failedWrites: 0,
    reducedTrees: 0,
  };
  await expect(store.workers.announce(record, 1_000)).rejects.toMatchObject({ code: "40001" });
  // Pauses of 50, 100, 200 and 400 ms, each half as long at least.
  expect(performance.now() - began).toBeGreaterThan(370);
  expect(await server.query("select last_value from tries", url)).toEqual([{ last_value: "5" }]);
});
