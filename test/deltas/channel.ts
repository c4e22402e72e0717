import { environmentKeys } from "reeve/store";
import { Seals } from "#sealing";
import { AttemptId, type Clock, type Keys, RunId, StepId, type Store, TreeId, type Seal } from "#kernel";
import { systemClock } from "#base";
import type { AnswerFeed, UpdateFeed } from "../../src/deltas/delta-hub.ts";
import { Deltas } from "../../src/deltas/deltas.ts";
import type { RunDelta } from "../../src/deltas/run-delta.ts";

export const secret = Buffer.alloc(32, 7).toString("base64");
const run = RunId.root(TreeId.of("books"));
const step = StepId.of(run, "model", 1);

/** One process's part of the channel. */
export function processOf(
  { workers }: Store,
  keys: Keys = environmentKeys({ REEVE_KEY: secret }),
  clock: Clock = systemClock,
): { readonly deltas: Deltas; readonly sealer: (key: string) => Promise<Seal> } {
  const seals = new Seals(keys, { keyCacheMs: 0 });
  const sealer = (key: string): Promise<Seal> => seals.getSeal(key);
  return {
    deltas: new Deltas({
      clock,
      health: () => ({ lagMs: 0, failedWrites: 0, reducedTrees: 0 }),
      others: { workers, sealer },
    }),
    sealer,
  };
}

/** Begins an answer in a process. @throws if it cannot be watched. */
export function answer({ hub }: Deltas, key: string, attempt: string): AnswerFeed {
  const feed = hub.begin(key, { runId: run, step, attempt: AttemptId.of(attempt) });
  if (!feed) throw new Error("no watcher");
  return feed;
}

/** Begins a tool call in a process. */
export const updates = ({ hub }: Deltas, key: string, attempt: string): UpdateFeed =>
  hub.beginUpdates(key, { runId: run, step, attempt: AttemptId.of(attempt) });

/** A watcher of a tree. */
export class Watcher {
  readonly heard: RunDelta[] = [];
  /** Resolves with the error it ended with; null if it ended well. */
  readonly ended: Promise<unknown>;
  readonly #over = Promise.withResolvers<void>();

  constructor(deltas: Deltas, key: string) {
    this.ended = this.#listen(deltas, key).then(
      () => null,
      (error: unknown) => error,
    );
  }

  /** The displayed text: of each step only the part since its last reset. */
  get shown(): string {
    const since = this.heard.findLastIndex(({ kind }) => kind === "reset");
    return this.heard
      .slice(since + 1)
      .map(({ text }) => text)
      .join("");
  }

  /** The tree is over. */
  async close(): Promise<unknown> {
    this.#over.resolve();
    return this.ended;
  }

  async #listen(deltas: Deltas, key: string): Promise<void> {
    for await (const delta of deltas.watch(key, () => this.#over.promise)) this.heard.push(delta);
  }
}
