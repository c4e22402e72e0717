import type { Admin, Deployment } from "../client/admin.ts";
import { backoff } from "../client/backoff.ts";
import { toBuildPath } from "./build.ts";
import type { Log } from "./log-record.ts";
import { StartupError } from "./startup-error.ts";

/** Options of a worker's registration. */
export interface RegistrationOptions {
  readonly uri: string;
  /** The hash of its program. */
  readonly program: string;
  /** One of the services there. */
  readonly service: string;
  /** Whether other workers may share the port. */
  readonly sharesPort: boolean;
  readonly connectTimeoutMs: number;
  readonly log: Log;
}

/** The metadata key under which a deployment names its program. */
const programKey = "reeve.program";

/**
 * Registers a worker. A known deployment stays unchanged, so that an old worker that returns takes no new runs from a
 * newer one. Exception: if the newer one had the same port, it is gone, and this one replaces it. @throws StartupError
 */
export async function register(admin: Admin, options: RegistrationOptions): Promise<void> {
  const { uri, program, service, sharesPort, log } = options;
  const metadata = { [programKey]: program };
  await deploy(admin, options, { uri, force: false, metadata });
  const all = await admin.deployments();
  const own = all.find((deployment) => deployment.uri === uri);
  if (own?.metadata?.[programKey] !== program) throw clash(uri);
  const newestId = await admin.getNewestDeployment(service);
  const newest = all.find(({ id }) => id === newestId);
  if (newest === undefined || newest.id === own.id) return;
  const isGone = !sharesPort && new URL(newest.uri).host === new URL(uri).host;
  if (isGone) await deploy(admin, options, { uri, force: true, metadata });
  else
    log({
      level: "warn",
      message: `new runs start at ${newest.uri}, not here: promote this build to change that`,
    });
}

/** Makes a served build the one that new runs start with. */
export async function promote(admin: Admin, service: string, build: string): Promise<void> {
  const [deployment] = await deploymentsOf(admin, service, build);
  if (deployment === undefined) throw new TypeError(`build ${build} is not registered`);
  const { uri, metadata = {} } = deployment;
  const { status, body } = await admin.deploy({ uri, force: true, metadata });
  if (status >= 300) throw new Error(`${uri} cannot be promoted (${reasonOf(body)}): serve it first`);
}

/** Returns the deployments of this build of a service, the newest first. */
export async function deploymentsOf(
  admin: Admin,
  service: string,
  build: string,
): Promise<readonly Deployment[]> {
  return (await admin.deployments())
    .filter(
      ({ uri, services }) =>
        uri.endsWith(toBuildPath(build)) && services.some(({ name }) => name === service),
    )
    .toSorted((one, other) => other.created_at.localeCompare(one.created_at));
}

async function deploy(
  admin: Admin,
  { connectTimeoutMs }: RegistrationOptions,
  deployment: Parameters<Admin["deploy"]>[0],
): Promise<void> {
  let answer: Awaited<ReturnType<Admin["deploy"]>> | null = null;
  for await (const _ of backoff({ firstMs: 50, maxMs: 1_000, totalMs: connectTimeoutMs })) {
    answer = await admin.deploy(deployment).catch(() => null);
    if (answer !== null && answer.status < 500) break;
  }
  if (answer === null)
    throw new StartupError("admin-unreachable", `${admin.url} stopped answering: start it again`);
  if (answer.status >= 300) throw toStartupError(deployment.uri, answer.status, answer.body);
}

function toStartupError(uri: string, status: number, body: string): StartupError {
  const reason = reasonOf(body);
  if (reason.includes("401 Unauthorized"))
    return new StartupError(
      "identity-refused",
      `the server does not sign its requests with one of \`identityKeys\`: put the public key there that it logs when it starts`,
    );
  if (reason.includes("META0003"))
    return new StartupError(
      "worker-unreachable",
      `the server cannot reach this worker at ${uri} (${reason}): run both in one network, or set \`host\` to an address of this machine that the server can reach`,
    );
  return new StartupError(
    "registration-refused",
    `the server refused to register ${uri} (${status} ${reason}): use another \`namespace\` if another program has these names`,
  );
}

function reasonOf(body: string): string {
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
