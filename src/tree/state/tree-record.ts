import { Json, type LastingParts, type ObjectContext } from "#kernel";
import type { TreeInfo, TreeRecord } from "./records.ts";

/*
 * A tree has two values. `tree` changes with almost every call, so it holds numbers and nothing that can be long.
 * `info` holds what is settled when the tree opens (its scope with the caller's metadata, prices): it is read with the
 * same round trip and hardly ever written again. Once the content of the tree is erased, `erased` holds what is left of it.
 */

/** The key of what changes with almost every call. */
export const treeKey = "tree";

/** The key of what is settled when the tree opens. */
export const infoKey = "info";

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
  const info = Json.as<TreeInfo | null>(object.get(infoKeyOf(changing)));
  return info && { ...info, ...changing };
}

/** The key under which a tree's info lies now. */
export const infoKeyOf = ({ erased }: Pick<TreeRecord, "erased">): string => (erased ? erasedKey : infoKey);

/** Takes a tree apart into its two values. */
export function splitTree(tree: TreeRecord): {
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
