import type { Admin } from "../client/admin.ts";
import { backoff } from "../client/backoff.ts";
import { checkDuration } from "#kernel";
import { refusal } from "./blocker.ts";
import { deploymentsOf } from "./registration.ts";
import type { ServiceNames } from "../service-names.ts";

/** The runs to move, and their target. */
export interface MoveOptions {
  /** The build that they belong to. */
  readonly from: string;
  /** The build that they continue with. Default: the one that new runs start with. */
  readonly to?: string;
  /** Only runs that `from` refuses, because it has another version of their agent. Default: all. */
  readonly only?: "refused";
  /** Maximum wait for running steps: each ends before its run moves. Default: 1 minute. */
  readonly waitMs?: number;
}

/** The outcome of a move. */
export interface MoveResult {
  readonly moved: number;
  /** Number of runs whose step did not end in time. They pause when it does: move again then. */
  readonly left: number;
}

const atOnce = 16;

/** Moves the invocations of one build to another: runs, and interrupted calls to objects. No step is repeated. */
export async function moveRuns(admin: Admin, names: ServiceNames, options: MoveOptions): Promise<MoveResult> {
  const { from, to, only, waitMs = 60_000 } = options;
  checkDuration("waitMs", waitMs);
  const sources = (await deploymentsOf(admin, names.run, from)).map(({ id }) => id);
  const target =
    to === undefined
      ? await admin.getNewestDeployment(names.run)
      : (await deploymentsOf(admin, names.run, to)).map(({ id }) => id)[0];
  if (target === undefined) throw new TypeError(`moveRuns: build ${to} is not registered`);
  if (sources.includes(target)) throw new TypeError(`moveRuns: "from" and "to" are the same build (${from})`);
  const { prefix } = names;
  const find = (): Promise<readonly string[]> =>
    only === "refused"
      ? lookAgain(() => listRefused(admin, sources, prefix))
      : admin.listPinned(sources, { prefix });
  let moved = 0;
  let left = await find();
  for await (const _ of backoff({ firstMs: 50, maxMs: 1_000, totalMs: waitMs })) {
    if (left.length === 0) break;
    for (let index = 0; index < left.length; index += atOnce) {
      const some = left.slice(index, index + atOnce);
      const done = await Promise.all(some.map((invocation) => move(admin, invocation, target)));
      moved += done.filter(Boolean).length;
    }
    left = await find();
  }
  return { moved, left: left.length };
}

/**
 * Lists refused runs. One that was paused in the middle of a try, by an operator or by a move that was interrupted, shows no
 * failure any more.
 */
async function listRefused(
  admin: Admin,
  sources: readonly string[],
  prefix: string,
): Promise<readonly string[]> {
  const found = new Set(await admin.listPinned(sources, { prefix, failure: refusal }));
  for (const paused of await admin.listPinned(sources, { prefix, status: "paused" })) {
    const reason = found.has(paused) ? "" : await admin.getPauseReason(paused);
    if (reason?.includes(refusal)) found.add(paused);
  }
  return [...found];
}

/**
 * Merges the results of several queries: a refused run shows no failure at the moment in which it is retried, which lasts
 * longer on a busy machine.
 */
async function lookAgain(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const found = new Set<string>();
  for await (const _ of backoff({ firstMs: 200, maxMs: 200, totalMs: 2_000 }))
    for (const id of await look()) found.add(id);
  return [...found];
}

/** Counts the unfinished invocations of a build. */
export async function countRuns(admin: Admin, names: ServiceNames, build: string): Promise<number> {
  const deployments = (await deploymentsOf(admin, names.run, build)).map(({ id }) => id);
  return (await admin.listPinned(deployments, { prefix: names.prefix })).length;
}

/** Moves an invocation. Returns false if it is running, or has ended. A pause lets its step end first. */
async function move(admin: Admin, invocation: string, deployment: string): Promise<boolean> {
  await admin.pause(invocation);
  return admin.resume(invocation, deployment);
}
