/** A worker's address on the server, and what it was registered with. */
export interface Deployment {
  readonly id: string;
  readonly uri: string;
  readonly created_at: string;
  readonly services: readonly { readonly name: string }[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** An execution, as the server sees it. What there is none of is absent. */
export interface Invocation {
  readonly status: string;
  readonly pinned_deployment_id?: string;
  /** Of the tries since it last went on; gone once it is paused. */
  readonly last_failure?: string;
  readonly next_retry_at?: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** What we ask of Restate's admin. Each call rejects if nobody answers. */
export class Admin {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** Makes an endpoint known. By force it is known anew, and what starts from now on starts there. */
  deploy(deployment: Pick<Deployment, "uri" | "metadata"> & { readonly force: boolean }): Promise<Answer> {
    return this.#request("POST", "/deployments", deployment);
  }

  async deployments(): Promise<readonly Deployment[]> {
    const { deployments } = await this.#read<{ readonly deployments: readonly Deployment[] }>("/deployments");
    return deployments;
  }

  /** The id of the deployment where what is called of a service starts now. */
  async newest(service: string): Promise<string> {
    const { deployment_id: id } = await this.#read<{ readonly deployment_id: string }>(
      `/services/${service}`,
    );
    return id;
  }

  /** Stops an execution, once the step that runs has ended, until it is resumed. */
  async pause(execution: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${execution}/pause`);
  }

  /** Ends an execution that can never go on. */
  async kill(execution: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${execution}/kill`);
  }

  /** Lets an execution go on with another deployment. False if it has not stopped yet, or has ended. */
  async resume(execution: string, deployment: string): Promise<boolean> {
    const path = `/invocations/${execution}/resume?deployment=${encodeURIComponent(deployment)}`;
    return (await this.#request("PATCH", path)).status < 300;
  }

  /** What these deployments have begun of services named like this and not ended, perhaps only what last failed so. */
  async pinned(
    deployments: readonly string[],
    { prefix, failure }: { readonly prefix: string; readonly failure?: string | undefined },
  ): Promise<readonly string[]> {
    if (deployments.length === 0) return [];
    const conditions = [
      "status <> 'completed'",
      `starts_with(target_service_name, ${quoted(prefix)})`,
      // One that has journaled nothing is pinned to none, and goes to the newest by itself.
      `pinned_deployment_id IN (${deployments.map(quoted).join(", ")})`,
      ...(failure === undefined ? [] : [`strpos(last_failure, ${quoted(failure)}) > 0`]),
    ];
    const query = `SELECT id FROM sys_invocation WHERE ${conditions.join(" AND ")}`;
    return (await this.#query<{ readonly id: string }>(query)).map(({ id }) => id);
  }

  /** One execution; null if there is none of that name. */
  async invocation(execution: string): Promise<Invocation | null> {
    const columns = "status, pinned_deployment_id, last_failure, next_retry_at";
    const query = `SELECT ${columns} FROM sys_invocation WHERE id = ${quoted(execution)}`;
    return (await this.#query<Invocation>(query))[0] ?? null;
  }

  /** What the execution failed with when it was paused. */
  async pausedFor(execution: string): Promise<string | undefined> {
    const query = `SELECT event_json FROM sys_journal_events WHERE id = ${quoted(execution)} AND event_type = 'Paused'
      ORDER BY appended_at DESC LIMIT 1`;
    const [event] = await this.#query<{ readonly event_json: string }>(query);
    if (!event) return undefined;
    const { last_failure: failure } = JSON.parse(event.event_json) as {
      readonly last_failure?: { readonly error_message?: string };
    };
    return failure?.error_message;
  }

  async #query<Row>(query: string): Promise<readonly Row[]> {
    const { status, body } = await this.#request("POST", "/query", { query });
    if (status !== 200) throw new Error(`Restate's admin answered ${status} to a query: ${body}`);
    return (JSON.parse(body) as { readonly rows: readonly Row[] }).rows;
  }

  async #read<T>(path: string): Promise<T> {
    const { status, body } = await this.#request("GET", path);
    if (status !== 200) throw new Error(`Restate's admin answered ${status} to ${path}: ${body}`);
    return JSON.parse(body) as T;
  }

  async #request(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { "content-type": "application/json", accept: "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.text() };
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
