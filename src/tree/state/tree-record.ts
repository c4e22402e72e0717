import { Json, type LastingParts, type ObjectContext, type StoredTogether } from "#kernel";
import { isFirstPageKey } from "./live-runs.ts";
import type { TreeInfo, TreeRecord } from "./records.ts";
import { isRootKey } from "./stored-run.ts";

/*
 * The stored record of a tree, in two values. `tree` changes with almost every call, so it holds numbers and nothing
 * that can be long. `info` holds what is fixed when the tree opens (its scope with the caller's metadata, prices). It
 * is read in the same round trip and rarely written again. Once the content of the tree is erased, `erased` holds the
 * remaining info.
 */

/** The key of the value that changes with almost every call. */
const treeKey = "tree";

/** The key of the value that is fixed when the tree opens. */
const infoKey = "info";

/** The key of the info that remains once the tree's content is erased. */
const erasedKey = "erased";

/** The key that is set once the tree is finished: it is only read from then on. */
export const finishedKey = "finished";

/** The parts of a tree that hold no content. */
export const lastingParts: LastingParts = {
  state: ["ended", "doubt", "cancel", "closed", "disabled", finishedKey],
  erasedMark: erasedKey,
};

/**
 * The values that almost every call of a run reads or writes: a tree that has only its root is one value, and money is
 * counted up to the root.
 */
export const storedTogether: StoredTogether = {
  under: treeKey,
  has: (name) => name === infoKey || isRootKey(name) || isFirstPageKey(name),
};

/** The names to load before a tree is read. */
export const treeKeys: readonly string[] = [treeKey, infoKey];

/** Reads a tree. Null: there is no such tree. */
export function readTree(object: ObjectContext): TreeRecord | null {
  if (!object.keepsReferences) object.prefetch(treeKeys);
  const changing = Json.as<Omit<TreeRecord, keyof TreeInfo> | null>(object.get(treeKey));
  if (!changing) return null;
  if (object.keepsReferences) return Json.as(Json.of(changing));
  const info = Json.as<TreeInfo | null>(object.get(infoKeyOf(changing)));
  return info && { ...info, ...changing };
}

/** Writes a tree. `stored`: its previous value. Null: it is new. */
export function writeTree(object: ObjectContext, tree: TreeRecord, stored: TreeRecord | null): void {
  if (object.keepsReferences) return object.set(treeKey, Json.of(tree));
  const { info, changing } = splitTree(tree);
  object.set(treeKey, Json.of(changing));
  // The scope changes once, when the tree is erased; prices when the tree first calls a model that no agent names.
  if (info.scope === stored?.scope && info.prices === stored.prices) return;
  object.set(infoKeyOf(tree), Json.of(info));
  if (tree.erased) object.clear(infoKey);
}

/** Returns the key of a tree's present info. */
const infoKeyOf = ({ erased }: Pick<TreeRecord, "erased">): string => (erased ? erasedKey : infoKey);

/** Splits a tree into its two values. */
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
