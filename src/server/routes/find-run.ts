import { NotFoundError, RunId, type RunRecord, TreeId, type UserId } from "#kernel";
import type { RunHandle } from "#runtime";
import { whose } from "../auth.ts";
import type { Call } from "../route.ts";
import { shape } from "../shape.ts";

const id = shape.id((text) => (text.includes("~") ? RunId.parse(text) : TreeId.of(text)), "a run or a tree");

/**
 * Returns the run, or the root of the tree, that a path names. A read needs no worker: the store has the record.
 * @throws NotFoundError also if it belongs to another tenant, or to another user than the caller acts for.
 */
export async function findRun(call: Call): Promise<RunHandle> {
  const { host, principal, params } = call;
  const run = host.runtime.run(id.decode(params["run"], "run"), whose(principal));
  const isRoot = run.runId === RunId.root(run.treeId);
  const isRecent = host.recent.userOf(principal, run.treeId) !== undefined;
  if (principal.user === undefined && isRoot && isRecent) return run;
  const listed = await host.runtime.runs.tree(run.treeId, whose(principal));
  await checkUser(call, run, listed);
  // The store may be a little behind.
  if (!listed.some(({ runId }) => runId === run.runId)) await run.status();
  return run;
}

/** Returns the root of a tree, which may not exist. @throws NotFoundError if it is not the one user's for whom the caller acts. */
export async function findTreeRun(call: Call, tree: TreeId): Promise<RunHandle> {
  const { runtime } = call.host;
  const run = runtime.run(tree, whose(call.principal));
  if (call.principal.user !== undefined)
    await checkUser(call, run, await runtime.runs.tree(tree, whose(call.principal)));
  return run;
}

/** @throws NotFoundError that is the same for another user's run as for one that does not exist. */
async function checkUser(
  { host, principal }: Call,
  { treeId, runId }: RunHandle,
  listed: readonly RunRecord[],
): Promise<void> {
  if (principal.user === undefined) return;
  // A tree that is not in the store was started by this process, or the tree itself returns its user.
  const recent = (): UserId | null | undefined => host.recent.userOf(principal, treeId);
  const user = listed[0]
    ? listed[0].userId
    : (recent() ?? (await host.runtime.runs.userOf(treeId, whose(principal))));
  if (user !== principal.user) throw new NotFoundError({ what: "run", id: runId });
}
