import type { EndStatus } from "#kernel";

/** Exit codes of commands. */
export const ExitCode = {
  ok: 0,
  /** Something that should not happen. */
  failure: 1,
  /** The command was not understood. */
  usage: 2,
  /** No server answers. */
  unreachable: 3,
  /** The run, agent or approval does not exist. */
  notFound: 4,
  /** The server does not do it: no permission, too late, or already done. */
  refused: 5,
  /** The audit chain is broken. */
  broken: 6,
  landed: 10,
  failed: 11,
  cancelled: 12,
  /** Ctrl-C: the run goes on without us. */
  detached: 130,
} as const;

/** Returns the exit code for the end status of a run. */
export function exitCodeOf(status: EndStatus): number {
  return status === "completed" ? ExitCode.ok : ExitCode[status];
}
