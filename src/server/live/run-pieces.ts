import type { Clock, RunId } from "#kernel";
import type { RunDelta, RunHandle } from "#runtime";

const mergeMs = 50;
/** Pieces, and characters of one, that are kept for a reader that does not read. What is older is dropped. */
const maxPieces = 100;
const maxText = 64_000;

/** Yields the pieces of one run's answers, merged for 50 ms. Others of its tree are left out. @throws the signal's reason */
export async function* runPieces(
  run: RunHandle,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<readonly RunDelta[], void> {
  let pieces: RunDelta[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  takePieces(run.deltas({ signal }), run.runId, (delta) => {
    pieces = merged(pieces, delta);
    wake.resolve();
  })
    // Pieces that break off are not asked for again: the events tell the rest.
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

/** Adds a piece. Those of one attempt and kind that follow each other are one; of updates, the newest. */
function merged(pieces: readonly RunDelta[], delta: RunDelta): RunDelta[] {
  const last = pieces.at(-1);
  if (!last || last.kind !== delta.kind || last.attempt !== delta.attempt)
    return [...pieces, delta].slice(-maxPieces);
  const text = (last.text + delta.text).slice(-maxText);
  return [...pieces.slice(0, -1), { ...delta, text }];
}
