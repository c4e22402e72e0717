import { ContentSource, type FileBlock } from "#kernel";
import { contentObject } from "#base";
import type { TreeWork } from "./tree-work.ts";

/**
 * Claims the files of a message in the content port until the tree is erased. Unclaimed files are removed after an
 * hour.
 */
export function claimContent(work: TreeWork, files: readonly FileBlock[] = []): void {
  if (work.tree.hasContent || !files.some(({ source }) => ContentSource.is(source))) return;
  work.change({ hasContent: true });
  work.object.send({ type: contentObject.type, key: work.object.key }, "claim", null);
}

/** Removes all content of an ended tree: no run can read it any more. */
export function closeContent(work: TreeWork): void {
  if (!work.tree.hasContent) return;
  work.object.send({ type: contentObject.type, key: work.object.key }, "close", null);
}
