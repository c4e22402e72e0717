import type { BlockedExecution, ObjectAddress, Blocker } from "#kernel";
import type { Admin } from "../client/admin.ts";
import { parseBuild } from "./build.ts";
import type { ServiceNames } from "../service-names.ts";

/** A part of the failure message of a refused run, as in IncompatibleVersionError. */
export const refusal = "here; the run began with";

/** The error messages about a value of another release, as in `checkProtocol` and SealBrokenError. */
const otherRelease = /serve the release it was written with|serve a newer release/;

/** Messages of our own errors, and Restate's messages about an absent worker. */
const signs: readonly (readonly [RegExp, Blocker["kind"]])[] = [
  [new RegExp(refusal), "version"],
  [otherRelease, "release"],
  [/^replay diverged|^Found a mismatch between the code paths/, "diverged"],
  [/bytes: at most \d+ are possible$/, "too-large"],
  [/^error when calling its worker|^unexpected http status code/, "unserved"],
  [/./, "failing"],
];

/** Returns the reason why an execution cannot continue: Restate has paused it, or retries it repeatedly. Null: none. */
export async function getBlocker(admin: Admin, execution: string): Promise<Blocker | null> {
  const found = await admin.invocation(execution);
  if (!found) return null;
  if (found.completion_result === "failure")
    return {
      kind: "killed",
      lastError: firstLine(found.completion_failure ?? ""),
      build: null,
      retryAt: null,
    };
  const isStopped = found.status === "paused";
  const lastError = firstLine((isStopped ? await admin.getPauseReason(execution) : found.last_failure) ?? "");
  const kind = signs.find(([sign]) => sign.test(lastError))?.[1] ?? "stopped";
  // While an execution runs, its last failure says nothing. Exception: a refused run is refused every time.
  if (!isStopped && found.status !== "backing-off" && kind !== "version") return null;
  const deployment = (await admin.deployments()).find(({ id }) => id === found.pinned_deployment_id);
  return {
    kind,
    lastError,
    build: deployment ? parseBuild(deployment.uri) : null,
    // For an execution that was paused before its next try, Restate still reports the time of that try.
    retryAt: isStopped || found.next_retry_at === undefined ? null : Date.parse(found.next_retry_at),
  };
}

/**
 * Finds why the calls of an object are not answered: another release has written its state, or calls it. The build is
 * that of an unfinished execution that the object has launched.
 */
export async function getObjectBlocker(
  admin: Admin,
  names: ServiceNames,
  { type, key }: ObjectAddress,
): Promise<Blocker | null> {
  const service = names.object(type);
  for (const failing of await admin.listFailing(service, key)) {
    const lastError = firstLine(failing.last_failure ?? "");
    if (!otherRelease.test(lastError)) continue;
    const deployment = await admin.findPinnedBy(names.run, `${service}/${key}/`);
    const uri = (await admin.deployments()).find(({ id }) => id === deployment)?.uri;
    const retryAt = failing.next_retry_at === undefined ? null : Date.parse(failing.next_retry_at);
    return { kind: "release", lastError, build: uri === undefined ? null : parseBuild(uri), retryAt };
  }
  return null;
}

/** Finds executions that Restate has stopped for good, with their trees. */
export async function findBlocked(admin: Admin, names: ServiceNames): Promise<readonly BlockedExecution[]> {
  const found: BlockedExecution[] = [];
  const prefix = `${names.object("tree")}/`;
  for (const { id, invoked_by_target: target = "" } of await admin.listStopped(names.run)) {
    const blocker = await getBlocker(admin, id);
    if (!blocker || blocker.retryAt !== null || !target.startsWith(prefix)) continue;
    const key = target.slice(prefix.length, target.lastIndexOf("/"));
    found.push({ tree: { type: "tree", key }, execution: id, blocker });
  }
  return found;
}

/**
 * Returns the first line of a failure, without Restate's `[500 Internal]`, the stack, and the worker's address, which
 * is internal.
 */
function firstLine(failure: string): string {
  const [line = ""] = failure.split("\n");
  return line.replace(/^\[[^\]]*\] /, "").replace(/'\w+:\/\/[^']*'/, "its worker");
}
