import { attempts } from "./attempts.ts";
import { pathOf } from "./build.ts";
import { StartupError } from "./startup-error.ts";

/** A worker's address on the server and what it was registered with. */
interface Deployment {
  readonly id: string;
  readonly uri: string;
  readonly created_at: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** What we ask of Restate's admin. */
export class Admin {
  readonly #url: string;
  readonly #patienceMs: number;

  constructor(options: { readonly url: string; readonly patienceMs: number }) {
    this.#url = options.url;
    this.#patienceMs = options.patienceMs;
  }

  /**
   * Makes the endpoint at this address known. One that is known already stays as it is, so that a worker which comes
   * back takes no runs from a newer one. @throws StartupError
   */
  async register(uri: string, program: string): Promise<void> {
    const given = { uri, force: false, metadata: { [programKey]: program } };
    let answer: Answer | null = null;
    for await (const _ of attempts({ firstMs: 50, lastMs: 1_000, totalMs: this.#patienceMs })) {
      answer = await this.#request("POST", "/deployments", given).catch(() => null);
      if (answer !== null && answer.status < 500) break;
    }
    if (answer === null)
      throw new StartupError("admin-unreachable", `${this.#url} stopped answering: start it again`);
    if (answer.status >= 300) throw refusal(uri, answer);
    const known = await this.#read<Deployment>(`/deployments/${idOf(answer)}`);
    const registered = known.metadata?.[programKey];
    if (registered !== program) throw clash(uri);
  }

  /** Stops an execution, once the step that runs has ended, until it is resumed. */
  async pause(execution: string): Promise<void> {
    await this.#request("PATCH", `/invocations/${execution}/pause`);
  }

  /** Lets an execution go on with another deployment, or `latest`. False if it has not stopped yet, or has ended. */
  async resume(execution: string, deployment: string): Promise<boolean> {
    const path = `/invocations/${execution}/resume?deployment=${encodeURIComponent(deployment)}`;
    return (await this.#request("PATCH", path)).status < 300;
  }

  /** Where this build has been registered, the newest first. */
  async deploymentsOf(build: string): Promise<readonly string[]> {
    const { deployments } = await this.#read<{ readonly deployments: readonly Deployment[] }>("/deployments");
    return deployments
      .filter(({ uri }) => uri.endsWith(pathOf(build)))
      .toSorted((one, other) => other.created_at.localeCompare(one.created_at))
      .map(({ id }) => id);
  }

  /** What these deployments have begun of a namespace and not ended, perhaps only what last failed like this. */
  async pinned(
    deployments: readonly string[],
    { namespace, failure }: { readonly namespace: string; readonly failure?: string | undefined },
  ): Promise<readonly string[]> {
    if (deployments.length === 0) return [];
    const conditions = [
      "status <> 'completed'",
      `starts_with(target_service_name, ${quoted(`${namespace}.`)})`,
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
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { "content-type": "application/json", accept: "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.text() };
  }
}

/** Under which a deployment's metadata names the program behind it. */
const programKey = "reeve.program";

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function idOf({ body }: Answer): string {
  return (JSON.parse(body) as Deployment).id;
}

function refusal(uri: string, { status, body }: Answer): StartupError {
  const reason = messageOf(body);
  if (body.includes("401 Unauthorized"))
    return new StartupError(
      "identity-refused",
      `the server does not sign its requests with one of \`identityKeys\`: put the public key there that it logs when it starts`,
    );
  if (body.includes("META0003"))
    return new StartupError(
      "worker-unreachable",
      `the server cannot reach this worker at ${uri} (${reason}): run both in one network, or set \`host\` to an address of this machine that the server can reach`,
    );
  return new StartupError(
    "registration-refused",
    `the server refused to register ${uri} (${status} ${reason}): use another \`namespace\` if another program has these names`,
  );
}

function messageOf(body: string): string {
  try {
    return String((JSON.parse(body) as { readonly message?: unknown } | null)?.message);
  } catch {
    return body;
  }
}

function clash(uri: string): StartupError {
  return new StartupError(
    "build-clash",
    `${uri} is registered with other code: give each program its own \`build\`, or leave \`build\` out`,
  );
}
