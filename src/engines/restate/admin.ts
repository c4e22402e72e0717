/** A worker's address on the server, and what it was registered with. */
export interface Deployment {
  readonly id: string;
  readonly uri: string;
  readonly created_at: string;
  readonly services: readonly { readonly name: string }[];
  readonly metadata?: Readonly<Record<string, string>>;
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
    const { status, body } = await this.#request("POST", "/query", { query });
    if (status !== 200) throw new Error(`Restate's admin answered ${status} to a query: ${body}`);
    const { rows } = JSON.parse(body) as { readonly rows: readonly { readonly id: string }[] };
    return rows.map(({ id }) => id);
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
