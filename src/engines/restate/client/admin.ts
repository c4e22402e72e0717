/** A worker's address on the server, and its registration. */
export interface Deployment {
  readonly id: string;
  readonly uri: string;
  readonly created_at: string;
  readonly services: readonly { readonly name: string }[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** An execution, as the server reports it. Fields without a value are absent. */
export interface Invocation {
  readonly status: string;
  readonly pinned_deployment_id?: string;
  /** The last failure since its last progress. Removed once it is paused. */
  readonly last_failure?: string;
  readonly next_retry_at?: string;
  /** Set once the execution has ended. */
  readonly completion_result?: string;
  readonly completion_failure?: string;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A client of Restate's admin API. Each call rejects if the server does not answer. */
export class Admin {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** Registers an endpoint. With `force` it is registered again, and new invocations start there. */
  deploy(deployment: Pick<Deployment, "uri" | "metadata"> & { readonly force: boolean }): Promise<Answer> {
    return this.#request("POST", "/deployments", deployment);
  }

  async deployments(): Promise<readonly Deployment[]> {
    const { deployments } = await this.#read<{ readonly deployments: readonly Deployment[] }>("/deployments");
    return deployments;
  }

  /** Returns the id of the deployment at which new invocations of a service start. */
  async getNewestDeployment(service: string): Promise<string> {
    const { deployment_id: id } = await this.#read<{ readonly deployment_id: string }>(
      `/services/${service}`,
    );
    return id;
  }

  /** Pauses an execution, after its running step has ended, until it is resumed. */
  async pause(execution: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${execution}/pause`);
  }

  /** Ends an execution that can never continue. */
  async kill(execution: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${execution}/kill`);
  }

  /** Resumes an execution with another deployment. Returns false if it is still running, or has ended. */
  async resume(execution: string, deployment: string): Promise<boolean> {
    const path = `/invocations/${execution}/resume?deployment=${encodeURIComponent(deployment)}`;
    return (await this.#request("PATCH", path)).status < 300;
  }

  /**
   * Returns the unfinished invocations of these deployments, of services with this prefix. `failure`: only those whose
   * last failure contains it.
   */
  async listPinned(
    deployments: readonly string[],
    {
      prefix,
      failure,
      status,
    }: { readonly prefix: string; readonly failure?: string | undefined; readonly status?: "paused" },
  ): Promise<readonly string[]> {
    if (deployments.length === 0) return [];
    const conditions = [
      "status <> 'completed'",
      `starts_with(target_service_name, ${quoteSql(prefix)})`,
      // An invocation without journal entries is pinned to no deployment, and moves to the newest by itself.
      `pinned_deployment_id IN (${deployments.map(quoteSql).join(", ")})`,
      ...(failure === undefined ? [] : [`strpos(last_failure, ${quoteSql(failure)}) > 0`]),
      ...(status === undefined ? [] : [`status = ${quoteSql(status)}`]),
    ];
    const query = `SELECT id FROM sys_invocation WHERE ${conditions.join(" AND ")}`;
    return (await this.#query<{ readonly id: string }>(query)).map(({ id }) => id);
  }

  /** Returns one execution. Null if there is none of that id. */
  async invocation(execution: string): Promise<Invocation | null> {
    const columns =
      "status, pinned_deployment_id, last_failure, next_retry_at, completion_result, completion_failure";
    const query = `SELECT ${columns} FROM sys_invocation WHERE id = ${quoteSql(execution)}`;
    return (await this.#query<Invocation>(query))[0] ?? null;
  }

  /** Returns calls of an object that failed and are retried. */
  async listFailing(
    service: string,
    key: string,
  ): Promise<readonly Pick<Invocation, "last_failure" | "next_retry_at">[]> {
    return this.#query(`SELECT last_failure, next_retry_at FROM sys_invocation
      WHERE target_service_name = ${quoteSql(service)} AND target_service_key = ${quoteSql(key)}
      AND status <> 'completed' AND last_failure IS NOT NULL LIMIT 10`);
  }

  /** Returns the deployment of an unfinished execution that a caller has started. Null if there is none. */
  async findPinnedBy(service: string, caller: string): Promise<string | null> {
    const query = `SELECT pinned_deployment_id FROM sys_invocation WHERE target_service_name = ${quoteSql(service)}
      AND status <> 'completed' AND starts_with(invoked_by_target, ${quoteSql(caller)})
      AND pinned_deployment_id IS NOT NULL LIMIT 1`;
    const [found] = await this.#query<{ readonly pinned_deployment_id: string }>(query);
    return found?.pinned_deployment_id ?? null;
  }

  /** Returns executions of a service that are paused, or were killed, with the call that started each. */
  async listStopped(
    service: string,
  ): Promise<readonly { readonly id: string; readonly invoked_by_target?: string }[]> {
    return this.#query(`SELECT id, invoked_by_target FROM sys_invocation
      WHERE target_service_name = ${quoteSql(service)}
      AND (status = 'paused' OR (status = 'completed' AND completion_result = 'failure')) LIMIT 1000`);
  }

  /** Returns the failure for which the execution was paused. */
  async getPauseReason(execution: string): Promise<string | undefined> {
    const query = `SELECT event_json FROM sys_journal_events WHERE id = ${quoteSql(execution)} AND event_type = 'Paused'
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

function quoteSql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
