import type { Log } from "./operations/log-record.ts";
import { checkDuration } from "#kernel";

/** Which Restate, and how to behave there. */
export interface RestateOptions {
  /**
   * Where objects are called: `http://127.0.0.1:8080`. It has no authentication: never expose it. Of a cluster, give
   * the address of each node: a call that one does not answer is made to the next.
   */
  readonly ingress: string | readonly string[];
  /** Where workers register: `http://127.0.0.1:9070`. It has no authentication: never expose it. */
  readonly admin: string;
  /** Keeps programs apart that share a server; those of one name are one program. Default `reeve`. */
  readonly namespace?: string;
  /** A run that waits this long leaves the worker's memory. 0 makes every wait a replay. Default 1 minute. */
  readonly inactivityTimeoutMs?: number;
  /** A step that takes longer is aborted and executed again: keep it above the longest. Default 24 hours. */
  readonly abortTimeoutMs?: number;
  /** How long a call waits for a server that does not answer. Default 30 seconds. */
  readonly patienceMs?: number;
  /**
   * How long a call from outside waits for a worker once the server has accepted it. Then it throws a NoAnswerError, and
   * the call is kept for the next worker. Default 40 seconds.
   */
  readonly requestTimeoutMs?: number;
  /** How long the closures of a lost execution go on, for it to come back to them. Default 1 minute. */
  readonly keptMs?: number;
  /** Lets several workers of one program share one port of this machine (not on macOS). Default false. */
  readonly sharePort?: boolean;
  /** Throw every execution away after each operation and replay it, to find code that cannot be. Default false. */
  readonly fuzz?: boolean;
  /**
   * Names what this worker serves, in its address: a run stays with the build it began on. Default: a hash of the
   * agents' names and versions and of these options, so that compatible code takes over the runs of its predecessor.
   */
  readonly build?: string;
  /**
   * The address of this machine at which the server finds this worker. Default `127.0.0.1`; any other needs
   * `identityKeys`.
   */
  readonly host?: string;
  /**
   * Where the server finds this worker, if not at `host` and its port: the address of what stands before several workers
   * of one build. Default: there.
   */
  readonly url?: string;
  /** The public keys (`publickeyv1_...`) of the servers that may call this worker. Default: any that can reach it. */
  readonly identityKeys?: readonly string[];
  /** Where `/health`, `/ready` and `/metrics` are served over HTTP/1.1. 0 is a free port. Default: nowhere. */
  readonly probePort?: number;
  /**
   * On SIGTERM, drain for at most so long and end the process: exit code 0, or 1 if executions were left behind.
   * Default: SIGTERM is not handled here.
   */
  readonly drainOnSigtermMs?: number;
  /** Takes what operators should know. Default: one JSON line each on standard error. */
  readonly log?: Log;
}

/** @throws RangeError on a duration that is none. */
export function checkDurations(options: RestateOptions): void {
  const { inactivityTimeoutMs, abortTimeoutMs, patienceMs, requestTimeoutMs, keptMs, drainOnSigtermMs } =
    options;
  const durations = {
    inactivityTimeoutMs,
    abortTimeoutMs,
    patienceMs,
    requestTimeoutMs,
    keptMs,
    drainOnSigtermMs,
  };
  for (const [name, duration = 0] of Object.entries(durations)) checkDuration(name, duration);
}
