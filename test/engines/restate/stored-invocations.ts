import { Json } from "reeve";
import type { RestateServer } from "reeve/engines/restate";

/** The invocations of one handler, as Restate has stored them. */
export interface StoredHandler {
  readonly invocations: number;
  /** Commands, notifications, input and output in their journals. */
  readonly entries: number;
  /** Bytes of these entries. */
  readonly bytes: number;
}

interface Row extends StoredHandler {
  readonly handler: string;
}

/** The invocations of one namespace, from the tables of a Restate server. Reading them makes no invocation. */
export class StoredInvocations {
  readonly #admin: string;
  readonly #namespace: string;

  constructor({ admin }: RestateServer, namespace: string) {
    this.#admin = admin;
    this.#namespace = namespace;
  }

  /** Makes the server keep the journals of all services of the namespace. Objects are registered to keep none. */
  async keepJournals(): Promise<void> {
    const { services } = Json.as<{ readonly services: readonly { readonly name: string }[] }>(
      await this.#request("GET", "/services"),
    );
    const own = services.filter(({ name }) => name.startsWith(`${this.#namespace}.`));
    for (const { name } of own)
      await this.#request("PATCH", `/services/${name}`, { journal_retention: "1h" });
  }

  /** Counts by handler, as `tree/open`. */
  async listByHandler(): Promise<ReadonlyMap<string, StoredHandler>> {
    const rows = await this.#query<Row>(
      `SELECT concat(substr(i.target_service_name, ${this.#namespace.length + 2}), '/', i.target_handler_name) AS handler,
         count(DISTINCT i.id) AS invocations, count(j.index) AS entries, sum(j.raw_length) AS bytes
       FROM sys_invocation i LEFT JOIN sys_journal j ON j.id = i.id
       WHERE ${this.#isOwn} GROUP BY handler ORDER BY handler`,
    );
    return new Map(rows.map(({ handler, ...counts }) => [handler, counts]));
  }

  /** The number of executions of runs that have completed. */
  async completedRuns(): Promise<number> {
    return this.#count("i.target_handler_name = 'run' AND i.status = 'completed'");
  }

  /** The number of calls of objects that are due, in progress or yet to come. */
  async openCalls(): Promise<number> {
    return this.#count("i.target_handler_name <> 'run' AND i.status <> 'completed'");
  }

  get #isOwn(): string {
    return `starts_with(i.target_service_name, '${this.#namespace}.')`;
  }

  async #count(condition: string): Promise<number> {
    const [row] = await this.#query<{ readonly found: number }>(
      `SELECT count(*) AS found FROM sys_invocation i WHERE ${this.#isOwn} AND ${condition}`,
    );
    return row?.found ?? 0;
  }

  async #query<Found>(query: string): Promise<readonly Found[]> {
    return Json.as<{ readonly rows: readonly Found[] }>(await this.#request("POST", "/query", { query }))
      .rows;
  }

  async #request(method: string, path: string, body?: Json): Promise<Json> {
    const answer = await fetch(new URL(path, this.#admin), {
      method,
      headers: { "content-type": "application/json", accept: "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`Restate answered ${answer.status} to ${path}: ${await answer.text()}`);
    return Json.of(await answer.json());
  }
}
