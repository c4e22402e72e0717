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
  /** Set once the execution is over. */
  readonly completion_result?: string;
  readonly completion_failure?: string;
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
    const columns =
      "status, pinned_deployment_id, last_failure, next_retry_at, completion_result, completion_failure";
    const query = `SELECT ${columns} FROM sys_invocation WHERE id = ${quoted(execution)}`;
    return (await this.#query<Invocation>(query))[0] ?? null;
  }

  /** Calls of an object that failed and are tried again. */
  async failing(
    service: string,
    key: string,
  ): Promise<readonly Pick<Invocation, "last_failure" | "next_retry_at">[]> {
    return this.#query(`SELECT last_failure, next_retry_at FROM sys_invocation
      WHERE target_service_name = ${quoted(service)} AND target_service_key = ${quoted(key)}
      AND status <> 'completed' AND last_failure IS NOT NULL LIMIT 10`);
  }

  /** The deployment of an execution that a caller has started and that has not ended; null if there is none. */
  async pinnedBy(service: string, caller: string): Promise<string | null> {
    const query = `SELECT pinned_deployment_id FROM sys_invocation WHERE target_service_name = ${quoted(service)}
      AND status <> 'completed' AND starts_with(invoked_by_target, ${quoted(caller)})
      AND pinned_deployment_id IS NOT NULL LIMIT 1`;
    const [found] = await this.#query<{ readonly pinned_deployment_id: string }>(query);
    return found?.pinned_deployment_id ?? null;
  }

  /** Executions of a service that are stopped, or were killed, with the call that started each. */
  async stopped(
    service: string,
  ): Promise<readonly { readonly id: string; readonly invoked_by_target?: string }[]> {
    return this.#query(`SELECT id, invoked_by_target FROM sys_invocation
      WHERE target_service_name = ${quoted(service)}
      AND (status = 'paused' OR (status = 'completed' AND completion_result = 'failure')) LIMIT 1000`);
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
