import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { freePort } from "../free-port.ts";

/** A PostgreSQL server of our own, in a folder of its own. */
export interface PostgresServer {
  /** Returns the address of a fresh database that belongs to an ordinary role. */
  database(): Promise<string>;
  /** Runs a query as superuser: in the database of a connection string, or in `postgres`. */
  query(text: string, connectionString?: string): Promise<Record<string, unknown>[]>;
  /** Folder of its files. */
  readonly folder: string;
  /** Kills it (SIGKILL) and waits for its end. Its data remain. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and data. */
  restart(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0;

/** With `fsync` off, the default, a crash of the machine would break it: sufficient for a test, and faster. */
export async function postgresServer({
  fsync = "off",
}: { readonly fsync?: "on" | "off" } = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "reeve-postgres-"));
  if (isRoot) chownSync(folder, idOf("-u"), idOf("-g"));
  const data = join(folder, "data");
  const [initdb, ...rest] = asPostgres(join(binaries(), "initdb"));
  execFileSync(initdb, [...rest, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8"]);
  const port = await freePort();
  let server = await start(data, port, fsync);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    // A test that failed may have left it killed.
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  };
  const url = (role: string, name: string): string => `postgres://${role}@127.0.0.1:${port}/${name}`;
  const query: PostgresServer["query"] = async (text, connectionString) => {
    const name = connectionString === undefined ? "postgres" : new URL(connectionString).pathname.slice(1);
    const client = new Client({ connectionString: url("postgres", name), application_name: "test" });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  let count = 0;
  await query("create role reeve login");
  return {
    folder: data,
    query,
    database: async () => {
      count += 1;
      await query(`create database reeve_${count} owner reeve`);
      return url("reeve", `reeve_${count}`);
    },
    kill: () => end("SIGKILL"),
    restart: async () => void (server = await startAgain(data, port, fsync)),
    [Symbol.asyncDispose]: async () => {
      await end("SIGINT");
      await rm(folder, { recursive: true, maxRetries: 3 });
    },
  };
}

/** Children of a server that was killed hold its memory until they notice. */
async function startAgain(data: string, port: number, fsync: string): Promise<ChildProcess> {
  const end = performance.now() + 20_000;
  for (;;) {
    try {
      return await start(data, port, fsync);
    } catch (error) {
      if (performance.now() > end) throw error;
      await delay(20);
    }
  }
}

async function start(data: string, port: number, fsync: string): Promise<ChildProcess> {
  const settings = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    `fsync=${fsync}`,
  ];
  const [postgres, ...rest] = asPostgres(join(binaries(), "postgres"));
  const options = settings.flatMap((setting) => ["-c", setting]);
  const server = spawn(postgres, [...rest, "-D", data, ...options], { stdio: ["ignore", "ignore", "pipe"] });
  const endWithUs = (): void => void server.kill("SIGKILL");
  process.once("exit", endWithUs);
  server.once("exit", () => process.off("exit", endWithUs));
  let log = "";
  const ready = Promise.withResolvers<void>();
  server.on("exit", (code) => ready.reject(new Error(`PostgreSQL ended with ${code}: ${log}`)));
  server.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log = `${log}${text}`.slice(-10_000);
    if (log.includes("ready to accept connections")) ready.resolve();
  });
  await ready.promise;
  return server;
}

/** `setpriv` becomes the command itself, so that the process we started is the one we end. */
function asPostgres(command: string): [string, ...string[]] {
  if (!isRoot) return [command];
  return ["setpriv", `--reuid=${idOf("-u")}`, `--regid=${idOf("-g")}`, "--clear-groups", command];
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
}

function binaries(): string {
  const base = "/usr/lib/postgresql";
  const [newest] = (existsSync(base) ? readdirSync(base) : []).toSorted((a, b) => Number(b) - Number(a));
  if (newest === undefined) throw new Error("PostgreSQL is not installed: apt-get install postgresql");
  return join(base, newest, "bin");
}
