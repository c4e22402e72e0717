import type { BlockedExecution, ObjectAddress, Obstacle } from "#kernel";
import type { Admin } from "../client/admin.ts";
import { buildAt } from "./build.ts";
import type { ServiceNames } from "../service-names.ts";

/** What a refused run last failed with says this, as IncompatibleVersionError does. */
export const refusal = "here; the run began with";

/** The error about a value of another release, as `checkProtocol` and SealBrokenError word it. */
const otherRelease = /serve the release it was written with|serve a newer release/;

/** What our own errors say, and what Restate says of a worker that is not there. */
const signs: readonly (readonly [RegExp, Obstacle["kind"]])[] = [
  [new RegExp(refusal), "version"],
  [otherRelease, "release"],
  [/^replay diverged|^Found a mismatch between the code paths/, "diverged"],
  [/bytes: at most \d+ are possible$/, "too-large"],
  [/^error when calling its worker|^unexpected http status code/, "unserved"],
  [/./, "failing"],
];

/** What keeps an execution from going on, as Restate sees it: one that it has stopped, or tries again and again. */
export async function obstacleOf(admin: Admin, execution: string): Promise<Obstacle | null> {
  const found = await admin.invocation(execution);
  if (!found) return null;
  if (found.completion_result === "failure")
    return { kind: "killed", words: firstLine(found.completion_failure ?? ""), build: null, retryAt: null };
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

/**
 * Finds why the calls of an object are not answered: another release has written its state, or calls it. The build is
 * that of an execution which the object has launched and which has not ended.
 */
export async function objectObstacleOf(
  admin: Admin,
  names: ServiceNames,
  { type, key }: ObjectAddress,
): Promise<Obstacle | null> {
  const service = names.object(type);
  for (const failing of await admin.failing(service, key)) {
    const words = firstLine(failing.last_failure ?? "");
    if (!otherRelease.test(words)) continue;
    const deployment = await admin.pinnedBy(names.run, `${service}/${key}/`);
    const uri = (await admin.deployments()).find(({ id }) => id === deployment)?.uri;
    const retryAt = failing.next_retry_at === undefined ? null : Date.parse(failing.next_retry_at);
    return { kind: "release", words, build: uri === undefined ? null : buildAt(uri), retryAt };
  }
  return null;
}

/** Finds executions that Restate has stopped for good, with the trees that they belong to. */
export async function findBlocked(admin: Admin, names: ServiceNames): Promise<readonly BlockedExecution[]> {
  const found: BlockedExecution[] = [];
  const prefix = `${names.object("tree")}/`;
  for (const { id, invoked_by_target: target = "" } of await admin.stopped(names.run)) {
    const blocker = await obstacleOf(admin, id);
    if (!blocker || blocker.retryAt !== null || !target.startsWith(prefix)) continue;
    const key = target.slice(prefix.length, target.lastIndexOf("/"));
    found.push({ tree: { type: "tree", key }, execution: id, blocker });
  }
  return found;
}

/** Without Restate's `[500 Internal]` before it, the stack below it, and where the worker is: that is nobody's business. */
function firstLine(failure: string): string {
  const [line = ""] = failure.split("\n");
  return line.replace(/^\[[^\]]*\] /, "").replace(/'\w+:\/\/[^']*'/, "its worker");
}
