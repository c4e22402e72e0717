import {
  eraseEvent,
  Json,
  type Keys,
  type NumberedEvent,
  type ObjectAsk,
  type SinkDefinition,
  type Store,
} from "#kernel";
import { treeAt } from "./addresses.ts";
import { auditOf, erasure } from "./audit/audit-of.ts";
import type { AuditWriter } from "./audit/audit-writer.ts";
import { callTree } from "./tree/tree-object.ts";
import type { ArgumentOf, ProjectorOrder, ReplyOf, TreeMethod } from "./tree/protocol.ts";
import { projectorType } from "./tree/tree-work.ts";

/** What a projector stands on. */
export interface ProjectorHost {
  readonly store: Store;
  readonly audit: AuditWriter;
  /** What trees are sealed with; null: nothing is. */
  readonly keys: Keys | null;
  readonly now: () => number;
}

type TreeAsk = <Method extends TreeMethod>(
  method: Method,
  argument: ArgumentOf<Method>,
) => Promise<ReplyOf<Method>>;

const eventsPerBatch = 256;

/**
 * Writes what happened in a tree into the store: its events and, from them, its runs as lists show them and what was
 * decided. In order, from where it stopped, and the same again changes nothing: whatever crashes in between, the store
 * ends up the same.
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

  async take(key: string, argument: Json, ask: ObjectAsk): Promise<void> {
    const order = Json.as<ProjectorOrder>(argument);
    if (order.kind === "forget") return this.#forget(key, order.runs);
    const { kind, after, at } = order;
    const tree: TreeAsk = (method, given) =>
      callTree((name, sent) => ask({ type: "tree", key }, name, sent), method, given);
    const upTo = await this.#write(key, tree, after);
    await tree("projected", { upTo, at });
    if (kind === "erase") await this.#erase(key, tree, at);
  }

  /** Everything above `after`. Returns the last number. */
  async #write(key: string, tree: TreeAsk, after: number): Promise<number> {
    const { now } = this.#host;
    for (let upTo = after; ;) {
      const batch = await tree("unprojected", { after: upTo, limit: eventsPerBatch });
      const last = batch.events.at(-1);
      if (!last) return upTo;
      await this.#writeBatch(key, batch);
      upTo = last.seq;
      this.#lagMs = Math.max(0, now() - last.at);
      if (batch.events.length < eventsPerBatch) return upTo;
    }
  }

  async #writeBatch(
    key: string,
    { events, runs, retentions, approvals }: ReplyOf<"unprojected">,
  ): Promise<void> {
    const { store, audit } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    // A tree is found, and erased, through its runs: no event without its run.
    for (const run of runs) await store.runs.put(partition, run);
    for (const { decision, ...asked } of approvals) {
      await store.approvals.request(partition, asked);
      if (decision) await store.approvals.decide(partition, asked.id, decision);
    }
    // What is told is in the audit already.
    await audit.record(
      partition,
      events.flatMap((event) => auditOf(event) ?? []),
    );
    const kept = events.map((event) => (retentions[event.runId] === "none" ? eraseEvent(event) : event));
    const isFleeting = (event: NumberedEvent): boolean =>
      retentions[event.runId] === "run" && eraseEvent(event) !== event;
    await store.events.append(partition, tree, kept, isFleeting);
  }

  /** The tree is over and all of it is written: what does not stay goes, here and in the tree. */
  async #erase(key: string, ask: TreeAsk, at: number): Promise<void> {
    const { store } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    const retentions = await ask("retentions", null);
    if (Object.values(retentions).some((retention) => retention !== "permanent"))
      await this.#eraseEvents(key, retentions);
    await store.approvals.erase(partition, tree);
    await ask("erase", { at });
  }

  /** And with the key everywhere. It is the last that is done: said first, so that it is said whatever comes between. */
  async #forget(key: string, runs: number): Promise<void> {
    const { now, keys, audit } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    if (runs > 0) await audit.record(partition, [erasure(tree, runs, now())]);
    await keys?.destroy?.(key);
  }

  async #eraseEvents(key: string, retentions: ReplyOf<"retentions">): Promise<void> {
    const { store } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    for (let after = 0; ;) {
      const events = await store.events.read(partition, tree, after, eventsPerBatch);
      const last = events.at(-1);
      if (!last) return;
      const theirs = events.filter(({ runId }) => retentions[runId] !== "permanent");
      const changed = theirs.filter((event) => eraseEvent(event) !== event);
      if (changed.length > 0) await store.events.rewrite(partition, tree, changed.map(eraseEvent));
      after = last.seq;
    }
  }
}
