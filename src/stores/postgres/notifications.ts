import { Client, type Pool } from "pg";
import { Partition, type TreeId } from "#kernel";
import { connectionSettings } from "./connections.ts";

const channel = "reeve_event";
/** At most 20 notifications a second for a tree: the database passes each to every process that listens. */
const quietMs = 50;
const reconnectMs = 200;

/**
 * Notifies readers that a tree has events up to a sequence, with a delay that merges notifications. A lost notification
 * is harmless: readers also poll.
 */
export class Teller {
  readonly #pool: Pool;
  /** By the tree's key, which includes its tenant. */
  readonly #quiet = new Map<string, { latest: number | null; readonly timer: NodeJS.Timeout }>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  tell(partition: Partition, id: TreeId, seq: number): void {
    const tree = Partition.key(partition, id);
    const quiet = this.#quiet.get(tree);
    if (quiet) quiet.latest = Math.max(seq, quiet.latest ?? 0);
    else this.#send(tree, seq);
  }

  /** Sends the delayed notifications. */
  async close(): Promise<void> {
    const open = [...this.#quiet];
    this.#quiet.clear();
    for (const [tree, { timer, latest }] of open) {
      clearTimeout(timer);
      if (latest !== null) await this.#notify(tree, latest);
    }
  }

  #send(tree: string, seq: number): void {
    const timer = setTimeout(() => {
      const latest = this.#quiet.get(tree)?.latest ?? null;
      this.#quiet.delete(tree);
      if (latest !== null) this.#send(tree, latest);
    }, quietMs);
    this.#quiet.set(tree, { latest: null, timer });
    void this.#notify(tree, seq);
  }

  async #notify(tree: string, seq: number): Promise<void> {
    await this.#pool.query("select pg_notify($1, $2)", [channel, `${seq} ${tree}`]).catch(() => {});
  }
}

type NotificationHandler = (partition: Partition, tree: TreeId) => void;

/** Receives notifications of all processes on its own connection, which it renews indefinitely. */
export class Listener {
  readonly #connectionString: string;
  readonly #onNotification: NotificationHandler;
  readonly #onReconnect: () => void;
  #client: Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(
    connectionString: string,
    on: { readonly onNotification: NotificationHandler; readonly onReconnect: () => void },
  ) {
    this.#connectionString = connectionString;
    this.#onNotification = on.onNotification;
    this.#onReconnect = on.onReconnect;
  }

  /** Begins to listen, if it does not yet. */
  start(): void {
    if (this.#client || this.#timer || this.#closed) return;
    const client = new Client({
      connectionString: this.#connectionString,
      ...connectionSettings,
      application_name: "reeve listener",
    });
    this.#client = client;
    client.on("notification", ({ payload = "" }) => {
      const { partition, tree } = Partition.parse(payload.slice(payload.indexOf(" ") + 1));
      if (tree !== null) this.#onNotification(partition, tree);
    });
    client.on("error", () => this.#handleLoss(client));
    client.on("end", () => this.#handleLoss(client));
    client
      .connect()
      .then(() => client.query(`listen ${channel}`))
      .then(this.#onReconnect, () => this.#handleLoss(client));
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await client?.end();
  }

  #handleLoss(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.end().catch(() => {});
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.start();
    }, reconnectMs);
  }
}
