/** The reason why a worker cannot start. */
export type StartupProblem =
  | "port-in-use"
  | "cannot-listen"
  | "admin-unreachable"
  | "not-an-admin"
  | "server-version"
  | "ingress-unreachable"
  | "not-an-ingress"
  | "worker-unreachable"
  | "identity-refused"
  | "build-clash"
  | "registration-refused";

/** A worker cannot start. The message is one sentence: the problem and its fix. */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly problem: StartupProblem;

  constructor(problem: StartupProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.problem = problem;
  }

  static cannotListen(
    { host, port, option }: { readonly host: string; readonly port: number; readonly option: string },
    cause: unknown,
  ): StartupError {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    if (code !== "EADDRINUSE")
      return new StartupError(
        "cannot-listen",
        `cannot listen on ${host}:${port} (${code}): choose another \`${option}\` or \`host\``,
        cause,
      );
    const share = option === "port" ? ", or let workers of one build share it with `sharePort: true`" : "";
    const remedy = `end the process that has it, choose another \`${option}\`${share}`;
    return new StartupError("port-in-use", `port ${port} of ${host} is in use: ${remedy}`, cause);
  }
}
