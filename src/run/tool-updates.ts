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
import type { RunIdentity, StepPlace } from "./step.ts";

/** The time between two updates that readers are told, at least. */
const minIntervalMs = 100;
/** Bytes of an update as JSON, at most. */
const maxUpdateBytes = 4_096;

/** The call that the updates are of, and the means to tell them. */
interface UpdateOptions extends Pick<ToolUpdate, "tool" | "callId"> {
  readonly feed: UpdateFeed;
  readonly clock: Clock;
}

/**
 * The updates of one tool call on their way to readers. An update never fails and never waits. Between two that are told
 * lie 100 ms: of those in between, the newest is told. Nothing is recorded.
 */
export class ToolUpdates {
  readonly #options: UpdateOptions;
  #nextAt = -Infinity;
  /** The update that waits until the next one may be told. */
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

  /** The call is over. What it says afterwards is not told. */
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

/** Returns an update as JSON; a text that says why where it cannot be told. */
function toProgress(progress: unknown): ToolUpdate["progress"] {
  const problem = findJsonProblem(progress);
  if (problem !== null) return `[an update that cannot be encoded as JSON: it${problem}]`;
  const copy = copyJson(progress);
  const bytes = Buffer.byteLength(JSON.stringify(copy ?? null));
  return bytes <= maxUpdateBytes
    ? (copy ?? null)
    : `[an update of ${bytes} bytes: ${maxUpdateBytes} are the most]`;
}

/** A call of an effect tool, with the means for what its tool is given. */
interface MadeCall {
  readonly identity: RunIdentity;
  readonly place: StepPlace;
  readonly limited: { readonly signal: AbortSignal };
  readonly updates: ToolUpdates;
  readonly memory: RunMemory | null;
  readonly resumed: ResumedCall | null;
  readonly llm: EffectCall["llm"];
}

/** Creates what an effect tool is given. Its values are made when the tool asks for them: few do. */
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
