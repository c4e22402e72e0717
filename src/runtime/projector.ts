import { Json, type SinkDefinition, type Store } from "#kernel";
import { treeAt } from "./addresses.ts";
import { callTree } from "./tree/tree-object.ts";
import type { ArgumentOf, ReplyOf, TreeMethod } from "./tree/protocol.ts";
import { projectorType } from "./tree/tree-work.ts";

/** What a projector stands on. */
export interface ProjectorHost {
  /** Calls a tree by its key. */
  readonly call: (tree: string, method: string, argument: Json) => Promise<Json>;
  readonly store: Store;
  readonly now: () => number;
}

const eventsPerBatch = 256;

/**
 * Writes what happened in a tree into the store: its events and, from them, its runs as lists show them. In order, from
 * where it stopped, and the same again changes nothing: whatever crashes in between, the store ends up the same.
 */
export class Projector implements SinkDefinition {
  readonly type = projectorType;
  readonly #host: ProjectorHost;
  #lagMs = 0;

  constructor(host: ProjectorHost) {
    this.#host = host;
  }

  /** How old the newest event was when this process last wrote it down. */
  get lagMs(): number {
    return this.#lagMs;
  }

  async take(key: string, argument: Json): Promise<void> {
    const { now } = this.#host;
    let { after } = Json.as<{ readonly after: number }>(argument);
    for (;;) {
      const batch = await this.#read(key, after);
      const last = batch.events.at(-1);
      if (!last) break;
      await this.#write(key, batch);
      after = last.seq;
      this.#lagMs = Math.max(0, now() - last.at);
      if (batch.events.length < eventsPerBatch) break;
    }
    await this.#call(key, "projected", { upTo: after, at: now() });
  }

  #read(key: string, after: number): Promise<ReplyOf<"unprojected">> {
    return this.#call(key, "unprojected", { after, limit: eventsPerBatch });
  }

  async #write(key: string, { events, runs }: ReplyOf<"unprojected">): Promise<void> {
    const { store } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    // A tree is found, and erased, through its runs: no event without its run.
    for (const run of runs) await store.runs.put(partition, run);
    await store.events.append(partition, tree, events);
  }

  #call<Method extends TreeMethod>(
    key: string,
    method: Method,
    argument: ArgumentOf<Method>,
  ): Promise<ReplyOf<Method>> {
    return callTree((name, given) => this.#host.call(key, name, given), method, argument);
  }
}
