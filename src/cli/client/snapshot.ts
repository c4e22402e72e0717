import { RunId, type TreeId } from "#kernel";
import { TreeModel } from "../tree/tree-model.ts";
import { follow } from "./follow.ts";
import type { ReeveClient, Standing } from "./reeve-client.ts";

/** A tree as the store has it now, and one of its runs. */
export interface Snapshot {
  readonly model: TreeModel;
  readonly standing: Standing;
}

/** Reads a tree up to now. */
export async function snapshot(client: ReeveClient, run: string): Promise<Snapshot> {
  const standing = await client.standing(run);
  const records = await client.tree(run);
  const upTo = Math.max(0, ...records.map(({ seq }) => seq));
  return { standing, model: await read(client, standing.treeId, upTo) };
}

async function read(client: ReeveClient, treeId: TreeId, upTo: number): Promise<TreeModel> {
  const model = new TreeModel(treeId);
  const stop = new AbortController();
  try {
    if (upTo === 0) return model;
    for await (const followed of follow(client, RunId.root(treeId), { signal: stop.signal })) {
      if (followed.kind === "event") model.apply(followed.event);
      if (model.seq >= upTo) break;
    }
    return model;
  } finally {
    stop.abort();
  }
}
