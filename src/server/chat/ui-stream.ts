import { type ApprovalId, RunId } from "#kernel";
import type { RunHandle } from "#runtime";
import { merge } from "../merge.ts";
import { UiMessage } from "./ui-message.ts";
import type { UiChunk } from "./ui-steps.ts";

/** What one answer of a chat is told of. */
export interface UiStreamOptions {
  /** Questions that the reader has been shown: everything up to the last of them is known there. Default: none. */
  readonly shown?: readonly ApprovalId[];
  readonly signal: AbortSignal;
}

/**
 * A tree as a UI message, from its beginning, or from where the reader was left with a question. Ends with the tree, or
 * when nothing is left to tell before somebody has answered.
 */
export async function* uiStream(
  run: RunHandle,
  { shown = [], signal }: UiStreamOptions,
): AsyncGenerator<UiChunk, void> {
  const message = new UiMessage(RunId.root(run.treeId));
  const unseen = new Set(shown);
  yield { type: "start", messageId: run.treeId, messageMetadata: { treeId: run.treeId } };
  for await (const either of merge(run.events({ signal }), run.deltas({ signal }))) {
    const isKnown = unseen.size > 0;
    if ("second" in either) {
      const chunks = message.hear(either.second);
      if (!isKnown) yield* chunks;
      continue;
    }
    const event = either.first;
    if (event.type !== "approval.requested") {
      const chunks = message.take(event);
      if (!isKnown) yield* chunks;
      continue;
    }
    const approvals = await run.approvals();
    const asked = approvals.find(({ id }) => id === event.approvalId);
    const chunks = message.ask(event, asked?.arguments ?? null);
    if (!isKnown) yield* chunks;
    unseen.delete(event.approvalId);
    const pending = approvals.filter(({ decision }) => decision === null);
    const isLeft = pending.some(({ id }) => !message.shows(id));
    if (unseen.size === 0 && pending.length > 0 && !isLeft) return yield* message.pause();
  }
  yield* message.end(await run.result());
}
