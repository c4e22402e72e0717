import { Json, type LastingParts, type ObjectContext } from "#kernel";
import type { TreeInfo, TreeRecord } from "./records.ts";

/*
 * A tree has two values. `tree` changes with almost every call, so it holds numbers and nothing that can be long.
 * `info` holds what is settled when the tree opens (its scope with the caller's metadata, prices): it is read with the
 * same round trip and hardly ever written again. Once the content of the tree is erased, `erased` holds what is left of it.
 */

/** The key of what changes with almost every call. */
const treeKey = "tree";

/** The key of what is settled when the tree opens. */
const infoKey = "info";

/** The key of what is left of that once the tree's content is erased. */
const erasedKey = "erased";

/** The key that is set once nothing more will be done with the tree. */
export const finishedKey = "finished";

/** The parts of a tree that hold no content. */
export const lastingParts: LastingParts = {
  state: ["ended", "doubt", "cancel", "closed", "disabled", finishedKey],
  erasedMark: erasedKey,
};

/** The names that have to be loaded before a tree is read. */
export const treeKeys: readonly string[] = [treeKey, infoKey];

/** Reads a tree; null: there is no such tree. */
export function readTree(object: ObjectContext): TreeRecord | null {
  object.prefetch(treeKeys);
  const changing = Json.as<Omit<TreeRecord, keyof TreeInfo> | null>(object.get(treeKey));
  if (!changing) return null;
  if (object.keepsReferences) return Json.as(Json.of(changing));
  const info = Json.as<TreeInfo | null>(object.get(infoKeyOf(changing)));
  return info && { ...info, ...changing };
}

/** Writes a tree that was `stored` before; null: it is new. */
export function writeTree(object: ObjectContext, tree: TreeRecord, stored: TreeRecord | null): void {
  if (object.keepsReferences) return object.set(treeKey, Json.of(tree));
  const { info, changing } = splitTree(tree);
  object.set(treeKey, Json.of(changing));
  // The scope changes once, when the tree is erased; prices when the tree first calls a model that no agent names.
  if (info.scope === stored?.scope && info.prices === stored.prices) return;
  object.set(infoKeyOf(tree), Json.of(info));
  if (tree.erased) object.clear(infoKey);
}

/** The key under which a tree's info lies now. */
const infoKeyOf = ({ erased }: Pick<TreeRecord, "erased">): string => (erased ? erasedKey : infoKey);

/** Takes a tree apart into its two values. */
function splitTree(tree: TreeRecord): {
  readonly info: TreeInfo;
  readonly changing: Omit<TreeRecord, keyof TreeInfo>;
} {
  const {
    treeId,
    inputHash,
    secret,
    scope,
    traceId,
    caller,
    prices,
    yieldTimeoutMs,
    cancelGraceMs,
    maxRestarts,
    session,
    turn,
    name,
    ...changing
  } = tree;
  const info = {
    treeId,
    inputHash,
    secret,
    scope,
    traceId,
    caller,
    prices,
    yieldTimeoutMs,
    cancelGraceMs,
    maxRestarts,
    session,
    turn,
    ...(name !== undefined && { name }),
  };
  return { info, changing };
}
