import { RunId, TreeId } from "#kernel";
import type { RunHandle } from "#runtime";
import { whose } from "../auth.ts";
import { type Call } from "../route.ts";
import { shape } from "../shape.ts";

const id = shape.id((text) => (text.includes("~") ? RunId.parse(text) : TreeId.of(text)), "a run or a tree");

/**
 * The run, or the root of the tree, that an address names. Whoever only looks needs no worker for it: the store knows.
 *
 * @throws NotFoundError also if it is another tenant's.
 */
export async function runOf({ host, principal, params }: Call): Promise<RunHandle> {
  const run = host.runtime.run(id.decode(params["run"], "run"), whose(principal));
  const isRoot = run.runId === RunId.root(run.treeId);
  if (isRoot && host.recent.has(principal, run.treeId)) return run;
  const listed = await host.runtime.runs.tree(run.treeId, whose(principal));
  // The store may be a little behind.
  if (!listed.some(({ runId }) => runId === run.runId)) await run.status();
  return run;
}
