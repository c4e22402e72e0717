import { copyJson } from "#base";
import type { ToolUpdate, UpdateFeed } from "#deltas";
import {
  findJsonProblem,
  SpanId,
  TraceParent,
  type Clock,
  type EffectCall,
  type ResumedCall,
  type RunMemory,
} from "#kernel";
import { TreeSecret } from "#tree";
import type { RunIdentity, StepRef } from "./step.ts";

/** Minimum time between two published updates. */
const minIntervalMs = 100;
/** Maximum bytes of an update as JSON. */
const maxUpdateBytes = 4_096;

/** The call that the updates belong to, and the feed. */
interface UpdateOptions extends Pick<ToolUpdate, "tool" | "callId"> {
  readonly feed: UpdateFeed;
  readonly clock: Clock;
}

/**
 * The progress updates of one tool call. An update never fails and never waits. Updates are published at most every 100
 * ms; of those in between, the newest is published. Nothing is recorded.
 */
export class ToolUpdates {
  readonly #options: UpdateOptions;
  #nextAt = -Infinity;
  /** The update that waits for the end of the interval. */
  #waiting: { readonly progress: unknown; readonly disarm: () => void } | null = null;
  #isOver = false;

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  readonly update = (progress: unknown): void => {
    const { feed, clock } = this.#options;
    if (this.#isOver || !feed.isOpen) return;
    if (this.#waiting) {
      this.#waiting = { ...this.#waiting, progress };
      return;
    }
    if (clock.now() >= this.#nextAt) return this.#tell(progress);
    const disarm = clock.callAt(this.#nextAt, () => {
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting) this.#tell(waiting.progress);
    });
    this.#waiting = { progress, disarm };
  };

  /** Ends the call. Later updates are not published. */
  end(): void {
    this.#isOver = true;
    this.#waiting?.disarm();
    this.#waiting = null;
    this.#options.feed.end();
  }

  #tell(progress: unknown): void {
    const { feed, clock, tool, callId } = this.#options;
    this.#nextAt = clock.now() + minIntervalMs;
    feed.take({ tool, callId, progress: toProgress(progress) });
  }
}

/** Converts an update to JSON. A text with the reason if it cannot be encoded. */
function toProgress(progress: unknown): ToolUpdate["progress"] {
  const problem = findJsonProblem(progress);
  if (problem !== null) return `[an update that cannot be encoded as JSON: it${problem}]`;
  const copy = copyJson(progress);
  const bytes = Buffer.byteLength(JSON.stringify(copy ?? null));
  return bytes <= maxUpdateBytes
    ? (copy ?? null)
    : `[an update of ${bytes} bytes: at most ${maxUpdateBytes} are allowed]`;
}

/** A call of an effect tool, with the data for its argument. */
interface MadeCall {
  readonly identity: RunIdentity;
  readonly place: StepRef;
  readonly limited: { readonly signal: AbortSignal };
  readonly updates: ToolUpdates;
  readonly memory: RunMemory | null;
  readonly resumed: ResumedCall | null;
  readonly llm: EffectCall["llm"];
}

/** Creates the argument of an effect tool. Its values are lazy, because few tools use them. */
export function createEffectCall({
  identity,
  place: { id },
  limited,
  updates,
  memory,
  resumed,
  llm,
}: MadeCall): EffectCall {
  const { secret, traceId } = identity;
  return {
    update: updates.update,
    memory,
    resumed,
    llm,
    get signal() {
      return limited.signal;
    },
    get idempotencyKey() {
      return TreeSecret.idempotencyKey(secret, id);
    },
    get traceparent() {
      return TraceParent.format({ traceId, spanId: SpanId.of(id), sampled: true });
    },
  };
}
