import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backoff } from "../client/backoff.ts";

/** Options of a local server. */
export interface RestateServerOptions {
  /** The data directory. Default: a fresh directory, removed on disposal. */
  readonly baseDir?: string;
  /** Default: a free port. */
  readonly ingressPort?: number;
  /** Default: a free port. */
  readonly adminPort?: number;
  /** Fixed by the first start of a base directory. Default: 2. */
  readonly partitions?: number;
  /**
   * Whether a Ctrl-C in this process's terminal does not reach the server: only `stop` ends it then. Default: false.
   */
  readonly apart?: boolean;
  /** More `RESTATE_*` settings. They override ours. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A real Restate server on loopback, for tests and development. */
export interface RestateServer {
  readonly ingress: string;
  readonly admin: string;
  /** The process id of the running server, or of the last one. */
  readonly pid: number;
  /** Stops the server and waits until it has ended. Its data stay. */
  stop(): Promise<void>;
  /** Kills the server (SIGKILL) and waits until it has ended. Its data stay. */
  kill(): Promise<void>;
  /** Starts it again, on the same ports and data. Stops a running one first. */
  restart(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Milliseconds to wait for an answer: a server that is starting may accept a connection and never answer. */
const answerMs = 2_000;
const start = { firstMs: 20, maxMs: 100, totalMs: 60_000 };
const keptLog = 4_000;

/** Starts the server that the optional package `@restatedev/restate-server` ships, and waits until it is healthy. */
export async function restateServer(options: RestateServerOptions = {}): Promise<RestateServer> {
  const [ingressPort, adminPort, nodePort] = await freePorts(
    options.ingressPort,
    options.adminPort,
    undefined,
  );
  const baseDir = options.baseDir ?? (await mkdtemp(join(tmpdir(), "reeve-restate-")));
  const server = new ServerProcess({
    ingress: `http://127.0.0.1:${ingressPort}`,
    admin: `http://127.0.0.1:${adminPort}`,
    ownedDir: options.baseDir === undefined ? baseDir : null,
    apart: options.apart ?? false,
    env: {
      RESTATE_BASE_DIR: baseDir,
      RESTATE_NODE_NAME: "reeve",
      RESTATE_CLUSTER_NAME: "reeve",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_PORT: String(nodePort),
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${nodePort}`,
      RESTATE_LISTEN_MODE: "tcp", // Unix sockets fail in long base directories.
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_DEFAULT_NUM_PARTITIONS: String(options.partitions ?? 2),
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "128 MB",
      RESTATE_SHUTDOWN_TIMEOUT: "5s",
      RESTATE_LOG_FILTER: "warn",
      RESTATE_LOG_DISABLE_ANSI_CODES: "true",
      ...options.env,
    },
  });
  await server.restart();
  return server;
}

class ServerProcess implements RestateServer {
  readonly ingress: string;
  readonly admin: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #ownedDir: string | null;
  readonly #apart: boolean;
  #child: ChildProcess | null = null;
  #log = "";

  constructor(fields: {
    readonly ingress: string;
    readonly admin: string;
    readonly env: Readonly<Record<string, string>>;
    readonly ownedDir: string | null;
    readonly apart: boolean;
  }) {
    this.ingress = fields.ingress;
    this.admin = fields.admin;
    this.#env = fields.env;
    this.#ownedDir = fields.ownedDir;
    this.#apart = fields.apart;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  async restart(): Promise<void> {
    await this.stop();
    const child = spawn(binary(), ["--no-logo"], {
      env: { ...process.env, ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: this.#apart,
    });
    this.#child = child;
    const keep = (chunk: Buffer): void => {
      this.#log = (this.#log + chunk.toString()).slice(-keptLog);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    const endWithUs = (): void => void child.kill("SIGKILL");
    process.once("exit", endWithUs);
    child.once("exit", () => process.off("exit", endWithUs));
    await once(child, "spawn");
    await this.#waitUntilHealthy(child);
  }

  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ownedDir === null) return this.stop();
    await this.kill();
    await rm(this.#ownedDir, { recursive: true, force: true, maxRetries: 3 });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null || hasEnded(child)) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  async #waitUntilHealthy(child: ChildProcess): Promise<void> {
    for await (const _ of backoff(start)) {
      if (await this.#healthy()) return;
      if (hasEnded(child)) break;
    }
    await this.kill();
    throw new Error(`restate-server did not start:\n${this.#log}`);
  }

  async #healthy(): Promise<boolean> {
    const urls = [`${this.admin}/health`, `${this.ingress}/restate/health`];
    const answers = await Promise.allSettled(
      urls.map((url) => fetch(url, { signal: AbortSignal.timeout(answerMs) })),
    );
    return answers.every((answer) => answer.status === "fulfilled" && answer.value.ok);
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function binary(): string {
  const name = "@restatedev/restate-server";
  const file = `${name}-${process.platform}-${process.arch}/bin/restate-server`;
  // The binary is a dependency of that package, not of ours.
  const require = createRequire(createRequire(import.meta.url).resolve(`${name}/package.json`));
  return require.resolve(file);
}

async function freePorts(...wanted: readonly (number | undefined)[]): Promise<readonly number[]> {
  // All are held until all are known, so that no two are the same.
  const servers = wanted.map((port) => createServer().listen(port ?? 0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
