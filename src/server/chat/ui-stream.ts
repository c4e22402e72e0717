import { type ApprovalId, type NumberedEvent, RunId } from "#kernel";
import type { RunDelta, RunHandle } from "#runtime";
import { merge } from "../merge.ts";
import { UiMessage } from "./ui-message.ts";
import type { UiChunk } from "./ui-steps.ts";

/** Options of the stream of one chat answer. */
export interface UiStreamOptions {
  /** Questions the reader has seen: the reader knows everything up to the last of them. Default: none. */
  readonly shown?: readonly ApprovalId[];
  /** Resolves when the chat can go on after the tree: its turn is part of the history then. */
  readonly waitUntilFree: () => Promise<void>;
  readonly events: AsyncGenerator<NumberedEvent, void>;
  readonly deltas: AsyncGenerator<RunDelta, void>;
}

/**
 * Streams a tree as a UI message, from its beginning or from the last question the reader saw. Ends with the tree, or
 * when the tree can only continue after an approval.
 */
export async function* uiStream(
  run: RunHandle,
  { shown = [], waitUntilFree, events, deltas }: UiStreamOptions,
): AsyncGenerator<UiChunk, void> {
  const message = new UiMessage(RunId.root(run.treeId));
  const unseen = new Set(shown);
  yield { type: "start", messageId: run.treeId, messageMetadata: { treeId: run.treeId } };
  for await (const either of merge(events, deltas)) {
    const isKnown = unseen.size > 0;
    let chunks: readonly UiChunk[];
    let isStuck = false;
    if ("second" in either) chunks = message.applyDelta(either.second);
    else if (either.first.type !== "approval.requested") chunks = message.take(either.first);
    else {
      const event = either.first;
      const approvals = await run.approvals();
      const asked = approvals.find(({ id }) => id === event.approvalId);
      chunks = message.ask(event, asked?.arguments ?? null);
      unseen.delete(event.approvalId);
      const pending = approvals.filter(({ decision }) => decision === null);
      const isShown = pending.every(({ id }) => message.shows(id));
      isStuck = unseen.size === 0 && pending.length > 0 && isShown;
    }
    if (!isKnown) yield* chunks;
    if (isStuck) return yield* message.pause();
  }
  const result = await run.result();
  await waitUntilFree();
  yield* message.end(result);
}
