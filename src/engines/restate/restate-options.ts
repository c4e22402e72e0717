import type { Log } from "./operations/log-record.ts";
import { checkDuration } from "#kernel";

/** Options of the Restate engine. */
export interface RestateOptions {
  /**
   * The ingress address, at which objects are called: `http://127.0.0.1:8080`. It has no authentication: never expose
   * it. For a cluster, give the address of each node: a call that one does not answer is made to the next.
   */
  readonly ingress: string | readonly string[];
  /**
   * The admin address, at which workers register: `http://127.0.0.1:9070`. It has no authentication: never expose it.
   */
  readonly admin: string;
  /** Separates programs that share a server. Workers with the same namespace are one program. Default: `reeve`. */
  readonly namespace?: string;
  /** Time after which a waiting run leaves the worker's memory. 0 makes every wait a replay. Default: 1 minute. */
  readonly inactivityTimeoutMs?: number;
  /** Maximum duration of a step. A longer one is aborted and executed again. Default: 24 hours. */
  readonly abortTimeoutMs?: number;
  /** Maximum wait for a server that does not answer. Default: 30 seconds. */
  readonly connectTimeoutMs?: number;
  /**
   * Maximum wait of an outside call for a worker, once the server has accepted it. Then it throws a NoAnswerError, and
   * the call is kept for the next worker. Default: 40 seconds.
   */
  readonly requestTimeoutMs?: number;
  /** Time for which the closures of a lost execution continue, in case it returns. Default: 1 minute. */
  readonly stepRetentionMs?: number;
  /** Whether several workers of one program may share one port of this machine (not on macOS). Default: false. */
  readonly sharePort?: boolean;
  /**
   * Whether every execution is discarded after each operation and replayed, to find code that cannot be. Default:
   * false.
   */
  readonly replayEveryStep?: boolean;
  /**
   * The build in this worker's address: a run stays with the build it began on. Default: a hash of the agents' names
   * and versions and of these options, so that compatible code continues the runs of its predecessor.
   */
  readonly build?: string;
  /**
   * The address of this machine at which the server reaches this worker. Default: `127.0.0.1`. Any other requires
   * `identityKeys`.
   */
  readonly host?: string;
  /**
   * The URL at which the server reaches this worker, such as a load balancer before several workers of one build.
   * Default: `host` and its port.
   */
  readonly url?: string;
  /**
   * The public keys (`publickeyv1_...`) of the servers that may call this worker. Default: any server that can reach
   * it.
   */
  readonly identityKeys?: readonly string[];
  /** The port of `/health`, `/ready` and `/metrics` over HTTP/1.1. 0 is a free port. Default: none. */
  readonly probePort?: number;
  /**
   * Maximum drain time on SIGTERM. Then the process ends: exit code 0, or 1 if executions were left. Default: SIGTERM
   * is not handled here.
   */
  readonly drainOnSigtermMs?: number;
  /** Receives log records for operators. Default: one JSON line each on standard error. */
  readonly log?: Log;
}

/** Checks all durations. @throws RangeError on an invalid one. */
export function checkDurations(options: RestateOptions): void {
  const {
    inactivityTimeoutMs,
    abortTimeoutMs,
    connectTimeoutMs,
    requestTimeoutMs,
    stepRetentionMs,
    drainOnSigtermMs,
  } = options;
  const durations = {
    inactivityTimeoutMs,
    abortTimeoutMs,
    connectTimeoutMs,
    requestTimeoutMs,
    stepRetentionMs,
    drainOnSigtermMs,
  };
  for (const [name, duration = 0] of Object.entries(durations)) checkDuration(name, duration);
}
