import { backoff } from "../client/backoff.ts";
import { StartupError, type StartupProblem } from "./startup-error.ts";

/** The server version that this engine is tested with. */
const supported = { major: 1, minor: 7 };

/** Checks the server's admin and ingress. Waits for one that does not answer yet. @throws StartupError */
export async function checkServer(server: {
  readonly admin: string;
  readonly ingress: readonly string[];
  readonly connectTimeoutMs: number;
}): Promise<void> {
  const { admin, ingress, connectTimeoutMs } = server;
  const { version } = await askServer<{ version?: unknown }>(`${admin}/version`, connectTimeoutMs, {
    silent: [
      "admin-unreachable",
      `Restate's admin ${admin} does not answer: start the server, or correct \`admin\` (usually port 9070)`,
    ],
    strange: [
      "not-an-admin",
      `${admin} answers, but is not Restate's admin: correct \`admin\` (usually port 9070)`,
    ],
    isRight: (body) => typeof body.version === "string",
  });
  checkVersion(String(version));
  // One node that answers is enough: another may be down.
  const nodes = ingress.map((node) => checkIngress(node, connectTimeoutMs));
  await Promise.any(nodes).catch(() => nodes[0]);
}

async function checkIngress(ingress: string, connectTimeoutMs: number): Promise<void> {
  await askServer<{ services?: unknown }>(`${ingress}/restate/health`, connectTimeoutMs, {
    silent: [
      "ingress-unreachable",
      `Restate's ingress ${ingress} does not answer: start the server, or correct \`ingress\` (usually port 8080)`,
    ],
    strange: [
      "not-an-ingress",
      `${ingress} answers, but is not Restate's ingress: correct \`ingress\` (usually port 8080)`,
    ],
    isRight: (body) => Array.isArray(body.services),
  });
}

interface Expectation<T> {
  readonly silent: readonly [StartupProblem, string];
  readonly strange: readonly [StartupProblem, string];
  readonly isRight: (body: T) => boolean;
}

async function askServer<T extends object>(
  url: string,
  connectTimeoutMs: number,
  { silent, strange, isRight }: Expectation<T>,
): Promise<T> {
  let problem: unknown = null;
  for await (const _ of backoff({ firstMs: 50, maxMs: 1_000, totalMs: connectTimeoutMs })) {
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(Math.max(1_000, connectTimeoutMs)) });
      const body = parseBody<T>(await answer.text());
      if (answer.status < 500) {
        if (answer.ok && body !== null && isRight(body)) return body;
        throw new StartupError(...strange);
      }
    } catch (error) {
      if (error instanceof StartupError) throw error;
      problem = error;
    }
  }
  throw new StartupError(...silent, problem);
}

function parseBody<T extends object>(text: string): T | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" ? (body as T | null) : null;
  } catch {
    return null;
  }
}

function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === supported.major && minor >= supported.minor) return;
  const age = major > supported.major ? "too new: install a newer reeve" : "too old: install a newer one";
  throw new StartupError(
    "server-version",
    `Reeve needs Restate ${supported.major}.${supported.minor} or a later ${supported.major}.x, and the server is ${version}, ${age}`,
  );
}
