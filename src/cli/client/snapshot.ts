import { RunId, TreeId } from "#kernel";
import { TreeModel } from "#view";
import { followRun } from "./follow.ts";
import type { ReeveClient } from "./reeve-client.ts";

/** Reads a tree as the store has it now: no worker is asked. */
export async function snapshot(client: ReeveClient, id: string): Promise<TreeModel> {
  const treeId = id.includes("~") ? RunId.tree(RunId.parse(id)) : TreeId.of(id);
  const records = await client.tree(id);
  const upTo = Math.max(0, ...records.map(({ seq }) => seq));
  const model = new TreeModel(treeId);
  const stop = new AbortController();
  try {
    if (upTo === 0) return model;
    for await (const followed of followRun(client, RunId.root(treeId), { signal: stop.signal })) {
      if (followed.kind === "event") model.apply(followed.event);
      if (model.seq >= upTo) break;
    }
    return model;
  } finally {
    stop.abort();
  }
}
