import { RunId, TreeId } from "#kernel";
import type { RunHandle } from "#runtime";
import { type Call, whose } from "../route.ts";
import { shape } from "../shape.ts";

const id = shape.id((text) => (text.includes("~") ? RunId.parse(text) : TreeId.of(text)), "a run or a tree");

/** The run, or the root of the tree, that an address names. @throws NotFoundError also if it is another tenant's. */
export async function runOf({ host, principal, params }: Call): Promise<RunHandle> {
  const run = host.runtime.run(id.decode(params["run"], "run"), whose(principal));
  await run.status();
  return run;
}
