import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { restateServer, type RestateServer } from "reeve/engines/restate";
import { freePort } from "../../free-port.ts";
import { postgresServer, type PostgresServer } from "../../stores/postgres-server.ts";
import { pageFolder } from "./open-page.ts";

/** Stores that a deployment on Restate uses. */
export const storeKinds = ["SQLite", "PostgreSQL"] as const;
export type StoreKind = (typeof storeKinds)[number];

/** A worker and a server with the page, each a process of its own, on Restate. */
export class RestateSite implements AsyncDisposable {
  /** The path of the file, or the address of the database. */
  readonly store: string;
  /** Null for SQLite. */
  readonly postgres: PostgresServer | null;
  readonly #restate: RestateServer;
  readonly #folder: string;
  readonly #ports: Readonly<Record<"worker" | "server", number>>;
  readonly #processes = new Map<"worker" | "server", ChildProcess>();

  private constructor(fields: {
    readonly store: string;
    readonly postgres: PostgresServer | null;
    readonly restate: RestateServer;
    readonly folder: string;
    readonly ports: RestateSite["ports"];
  }) {
    this.store = fields.store;
    this.postgres = fields.postgres;
    this.#restate = fields.restate;
    this.#folder = fields.folder;
    this.#ports = fields.ports;
  }

  static async open(kind: StoreKind): Promise<RestateSite> {
    const folder = await mkdtemp(join(tmpdir(), "reeve-dashboard-"));
    const restate = await restateServer();
    const postgres = kind === "PostgreSQL" ? await postgresServer() : null;
    const store = postgres ? await postgres.database() : join(folder, "store.sqlite");
    const ports = { worker: await freePort(), server: await freePort() };
    const site = new RestateSite({ store, postgres, restate, folder, ports });
    await site.start("worker");
    await site.start("server");
    return site;
  }

  get ports(): Readonly<Record<"worker" | "server", number>> {
    return this.#ports;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#ports.server}`;
  }

  async start(part: "worker" | "server"): Promise<void> {
    const { ingress, admin } = this.#restate;
    const given = [ingress, admin, String(this.#ports[part]), this.store, pageFolder];
    const script = join(import.meta.dirname, `fixtures/team-${part}.ts`);
    const started = fork(script, given, { execArgv: ["--conditions=reeve-source"] });
    this.#processes.set(part, started);
    await once(started, "message");
  }

  async kill(part: "worker" | "server"): Promise<void> {
    const victim = this.#processes.get(part);
    if (!victim) throw new Error(`there is no ${part}`);
    this.#processes.delete(part);
    const ended = once(victim, "exit");
    victim.kill("SIGKILL");
    await ended;
  }

  /** Starts a tree over HTTP. */
  async begin(tree: object): Promise<number> {
    const headers = { "content-type": "application/json" };
    const reply = await fetch(`${this.origin}/runs`, { method: "POST", headers, body: JSON.stringify(tree) });
    return reply.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#processes.keys()) await this.kill(part);
    await this.#restate[Symbol.asyncDispose]();
    await this.postgres?.[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true });
  }
}
