import type { Obstacle } from "#kernel";
import type { Admin } from "./admin.ts";
import { buildAt } from "./build.ts";

/** What a refused run last failed with says this, as IncompatibleVersionError does. */
export const refusal = "here; the run began with";

/** What our own errors say, and what Restate says of a worker that is not there. */
const signs: readonly (readonly [RegExp, Obstacle["kind"]])[] = [
  [new RegExp(refusal), "version"],
  [/^replay diverged|^Found a mismatch between the code paths/, "diverged"],
  [/bytes: at most \d+ are possible$/, "too-large"],
  [/^error when calling its worker|^unexpected http status code/, "unserved"],
  [/./, "failing"],
];

/** What keeps an execution from going on, as Restate sees it: one that it has stopped, or tries again and again. */
export async function obstacleOf(admin: Admin, execution: string): Promise<Obstacle | null> {
  const found = await admin.invocation(execution);
  if (!found) return null;
  const isStopped = found.status === "paused";
  const words = firstLine((isStopped ? await admin.pausedFor(execution) : found.last_failure) ?? "");
  const kind = signs.find(([sign]) => sign.test(words))?.[1] ?? "stopped";
  // While one is tried, what it failed with before says nothing; but one that is refused is so every time.
  if (!isStopped && found.status !== "backing-off" && kind !== "version") return null;
  const deployment = (await admin.deployments()).find(({ id }) => id === found.pinned_deployment_id);
  return {
    kind,
    words,
    build: deployment ? buildAt(deployment.uri) : null,
    // Of one that was stopped while it waited for its next try, Restate still tells when that would have been.
    retryAt: isStopped || found.next_retry_at === undefined ? null : Date.parse(found.next_retry_at),
  };
}

/** Without Restate's `[500 Internal]` before it, the stack below it, and where the worker is: that is nobody's business. */
function firstLine(failure: string): string {
  const [line = ""] = failure.split("\n");
  return line.replace(/^\[[^\]]*\] /, "").replace(/'\w+:\/\/[^']*'/, "its worker");
}
