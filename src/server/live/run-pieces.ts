import type { Clock, RunId } from "#kernel";
import type { RunDelta, RunHandle } from "#runtime";

const mergeMs = 50;
/** Limits of pieces, and of characters in one, that are buffered for a slow reader. Older pieces are dropped. */
const maxPieces = 100;
const maxText = 64_000;

/**
 * Yields the pieces of one run's answers, merged for 50 ms, without those of other runs of the tree. @throws the
 * signal's reason
 */
export async function* runPieces(
  run: RunHandle,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<readonly RunDelta[], void> {
  let pieces: RunDelta[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  takePieces(run.deltas({ signal }), run.runId, (delta) => {
    pieces = mergePiece(pieces, delta);
    wake.resolve();
  })
    // A broken stream of pieces is not retried: the events bring the whole answer.
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
      wake.resolve();
    });
  for (;;) {
    await wake.promise;
    signal.throwIfAborted();
    await clock.waitUntil(clock.now() + mergeMs, signal);
    const found = pieces;
    pieces = [];
    if (!isOver) wake = Promise.withResolvers();
    if (found.length > 0) yield found;
    else if (isOver) return;
  }
}

async function takePieces(
  deltas: AsyncGenerator<RunDelta, void>,
  run: RunId,
  take: (delta: RunDelta) => void,
): Promise<void> {
  for await (const delta of deltas) if (delta.runId === run) take(delta);
}

/** Appends a piece. Consecutive pieces of one attempt and kind are merged; of tool updates, only the newest remains. */
function mergePiece(pieces: readonly RunDelta[], delta: RunDelta): RunDelta[] {
  const last = pieces.at(-1);
  if (!last || last.kind !== delta.kind || last.attempt !== delta.attempt)
    return [...pieces, delta].slice(-maxPieces);
  const text = (last.text + delta.text).slice(-maxText);
  return [...pieces.slice(0, -1), { ...delta, text }];
}
