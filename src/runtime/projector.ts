import {
  EntryId,
  eraseApproval,
  eraseEvent,
  Json,
  Partition,
  StoreRejectionError,
  type ApprovalDecision,
  type ApprovalRequest,
  type FailureLog,
  type Keys,
  type NumberedEvent,
  type RunRecord,
  type CallObject,
  type SinkDefinition,
  type Store,
  type StoreHealth,
  type TreeId,
} from "#kernel";
import {
  treeAt,
  callTree,
  type ProjectorOrder,
  type StoreErasure,
  type TurnOrder,
  withProtocol,
  type ArgumentOf,
  type ReplyOf,
  type TreeMethod,
  projectorType,
} from "#tree";
import { auditOf, erasure, reduction, type AuditNote, type AuditWriter } from "#audit";
import { keepBranchTexts } from "./branch-texts.ts";
import type { WebhookQueue } from "#webhooks";
import type { TreeTelemetry } from "./runtime-options.ts";
import { eraseEvents } from "./erase-events.ts";
import { reduce, writeOrReduce } from "./reduce.ts";
import { SinkHealth } from "./sink-health.ts";
import { SpendWriter } from "./spend-writer.ts";
import { readRecorded, type StepPrompt } from "./step-content.ts";

/*
 * The projector: copies a tree's events into the store, in order, and derives the lists of runs, the approvals, the
 * roll-up of money and the audit from them.
 *
 * Neighbours: the tree object sends orders (`ProjectorOrder`) and keeps the events until they are written. The engine
 * delivers the orders of one tree one after the other, and retries until they succeed (`SinkDefinition`).
 *
 * 1. Orders are idempotent, in any process: a repeated order leaves the store the same.
 * 2. A run is written before its events, and the audit before the events that it is derived from. So everything that a
 *    reader has seen is in the audit.
 * 3. The content of runs with retention `none` never reaches the store. Erasable content is marked as such.
 * 4. A value that the store rejects for good is written in reduced form: ids, times, amounts and status stay. It raises an
 *    alarm, which the audit keeps, and everything else of the tree is written in full.
 * 5. A tree is erased after all of it was written: the part that its retention names, or all of it. Its key is destroyed
 *    last, by a separate order.
 */

/** The dependencies of a projector. */
export interface ProjectorDeps {
  readonly store: Store;
  readonly audit: AuditWriter;
  /** The keys that seal trees. Null: nothing is sealed. */
  readonly keys: Keys | null;
  readonly now: () => number;
  /** Takes the events of ended trees. */
  readonly telemetry: TreeTelemetry | undefined;
  /** Takes failures of writes. Default: they are only counted. */
  readonly log: FailureLog | undefined;
  /** Takes events for webhooks, once they are stored. It calls no receiver. */
  readonly webhooks: WebhookQueue | null;
}

type TreeAsk = <Method extends TreeMethod>(
  method: Method,
  argument: ArgumentOf<Method>,
) => Promise<ReplyOf<Method>>;

const eventsPerBatch = 256;

/**
 * Writes the events of a tree into the store, with the runs, approvals and audit entries that follow from them. It
 * continues where it stopped, and repeated writes change nothing, so the store ends up the same after any crash.
 */
export class Projector implements SinkDefinition {
  readonly type = projectorType;
  readonly #host: ProjectorDeps;
  readonly #spend: SpendWriter;
  readonly #health: SinkHealth;

  constructor(host: ProjectorDeps) {
    this.#host = host;
    this.#spend = new SpendWriter(host);
    this.#health = new SinkHealth({ name: "the writer of the store", now: host.now, log: host.log });
  }

  get health(): StoreHealth {
    return this.#health.figures;
  }

  async take(key: string, argument: Json, ask: CallObject): Promise<void> {
    const order = Json.as<ProjectorOrder>(argument);
    await this.#health.take(key, timeOf(order) ?? this.#host.now(), () => this.#run(key, order, ask));
  }

  async #run(key: string, order: ProjectorOrder, ask: CallObject): Promise<void> {
    if (order.kind === "note") return this.#host.audit.record(Partition.parse(key).partition, [order.note]);
    if (order.kind === "turn") return this.#settleTurn(key, order, ask);
    if (order.kind === "forget") return this.#forget(key, order);
    const tree: TreeAsk = (method, given) =>
      callTree((name, sent) => ask({ type: "tree", key }, name, sent), method, given);
    if (order.kind === "events") {
      await this.#writeBatch(key, order.batch);
      if (order.confirm) await tree("projected", { at: order.at });
      return;
    }
    if (order.kind === "erase") return this.#erase(key, tree, order);
    await this.#drain(key, tree, order);
  }

  /**
   * Settles an unsaved turn: merges it into its conversation, closed by its end, or drops it. Later writes of its run are
   * refused. Then releases the turn. Idempotent.
   */
  async #settleTurn(key: string, order: TurnOrder, ask: CallObject): Promise<void> {
    const { sessions } = this.#host.store;
    const { partition } = treeAt({ type: "tree", key });
    const { run, end, release, at, goesBack = false } = order;
    const session = { id: order.session, userId: order.user };
    const place = { id: EntryId.of(`${run}.end`), parentId: null, at, branch: run };
    const closing = { ...place, type: "custom", kind: "turn-end", data: Json.of(end) } as const;
    // A turn that lost its place in the conversation cannot stay.
    const isKept = order.keep && (await sessions.settle(partition, session, run, { end: closing, goesBack }));
    if (!isKept) {
      await keepBranchTexts(this.#host.store, partition, { session, run });
      await sessions.settle(partition, session, run, { end: null });
    }
    if (release) await ask(release, "release", withProtocol({ tree: { type: "tree", key }, at }));
  }

  /** Writes everything above `after`. */
  async #drain(key: string, tree: TreeAsk, { after, at }: { after: number; at: number }): Promise<void> {
    for (let isMore = true; isMore;) {
      const batch = await tree("drain", { after, limit: eventsPerBatch, at });
      await this.#writeBatch(key, batch);
      isMore = batch.more;
    }
  }

  /**
   * Passes the events of an ended tree to the telemetry, all together, because other processes may have written parts
   * of it. Does not call the tree, so that a replay by a worker without telemetry makes the same calls.
   */
  async #trace(key: string, upTo: number): Promise<void> {
    const { store, telemetry } = this.#host;
    const { partition, tree: id } = treeAt({ type: "tree", key });
    const { tenantId } = partition;
    for (let after = 0; after < upTo;) {
      const events = await store.events.read(partition, id, { after, limit: eventsPerBatch });
      // An error of the telemetry must not keep events from the store.
      for (const event of events) {
        const content = telemetry?.capturesContent ? await this.#contentOf(partition, event) : undefined;
        ignoreThrow(() =>
          telemetry?.take(event, { ...(tenantId !== null && { tenant: tenantId }), content }),
        );
      }
      after = events.at(-1)?.seq ?? upTo;
    }
  }

  /** Reads the content of the step that an event begins. Undefined: none is recorded, or it cannot be read. */
  async #contentOf(partition: Partition, event: NumberedEvent): Promise<StepPrompt | undefined> {
    if (event.type !== "model.start" && event.type !== "tool.start") return undefined;
    try {
      return (await readRecorded(this.#host.store, partition, event.step)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  async #writeBatch(key: string, batch: ReplyOf<"drain">): Promise<void> {
    const { events } = batch;
    const [first, last] = [events[0], events.at(-1)];
    if (!first || !last) return;
    await this.#health.write(first.at, () => this.#write(key, batch));
    if (batch.closed && !batch.more && this.#host.telemetry) await this.#trace(key, last.seq);
  }

  async #write(key: string, batch: ReplyOf<"drain">): Promise<void> {
    const { events, runs, retentions, approvals } = batch;
    const { store, audit } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    const onReduced = (error: StoreRejectionError): Promise<void> => this.#alarm(key, error);
    // A tree is found, and erased, through its runs, so no event is written before its run.
    for (const run of runs)
      await writeOrReduce(run, (record) => store.runs.put(partition, record), {
        shrink: reduceRun,
        onReduced,
      });
    for (const { decision, ...asked } of approvals) {
      const request = (approval: ApprovalRequest): Promise<void> =>
        store.approvals.request(partition, approval);
      await writeOrReduce(asked, request, { shrink: reduceApproval, onReduced });
      if (decision) await this.#decide(partition, asked, decision);
    }
    await this.#spend.add(partition, tree, { ...batch, onReduced });
    // The audit is written before the events.
    if (audit.keeps)
      await writeOrReduce(toAuditNotes(events), (notes) => audit.record(partition, notes), {
        shrink: (notes) => notes.map(reduce),
        onReduced,
      });
    const kept = eraseUnkept(events, retentions);
    const isErasable = (event: NumberedEvent): boolean =>
      retentions[event.runId] === "run" && eraseEvent(event) !== event;
    const append = (some: readonly NumberedEvent[]): Promise<void> =>
      store.events.append(partition, tree, some, isErasable);
    await append(kept).catch(async (error: unknown) => {
      if (!StoreRejectionError.is(error)) throw error;
      // All others are written in full.
      for (const event of kept) await writeOrReduce([event], append, { shrink: reduceEvents, onReduced });
    });
    await this.#host.webhooks?.take(partition, events);
  }

  async #decide(
    partition: Partition,
    { id, treeId }: ApprovalRequest,
    decision: ApprovalDecision,
  ): Promise<void> {
    const { store } = this.#host;
    try {
      await store.approvals.decide(partition, id, decision);
    } catch (error) {
      // The store has ignored the request, because the tree is erased.
      if (!(await store.isErased(partition, treeId))) throw error;
    }
  }

  /** Raises the alarm for a tree, once. The audit keeps it, because the figures of a process end with the process. */
  async #alarm(key: string, error: StoreRejectionError): Promise<void> {
    if (this.#health.hasAlarm(key)) return;
    const { audit, now, telemetry } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    await audit.record(partition, [reduction(tree, { reason: error.reason, at: now() })]);
    this.#health.alarm(key, error);
    ignoreThrow(() => telemetry?.takeReduced?.());
  }

  /** Erases in the store before the tree, so that content that a result calls erased cannot be read anywhere. */
  async #erase(key: string, ask: TreeAsk, { after, content, at }: StoreErasure): Promise<void> {
    const { store } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    for (let unwritten = true; unwritten;) {
      if (content === "all") await eraseEvents(store, { partition, tree });
      if (content === "some") {
        const retentions = await ask("retentions", null);
        await eraseEvents(store, { partition, tree }, ({ runId }) => retentions[runId] !== "permanent");
      }
      await store.approvals.erase(partition, tree);
      ({ unwritten } = await ask("erase", { at }));
      if (unwritten) await this.#drain(key, ask, { after, at });
    }
  }

  /** Erases a tree that exists only in the store. */
  async eraseStored(partition: Partition, tree: TreeId): Promise<void> {
    const { store } = this.#host;
    const { length: runs } = await store.runs.tree(partition, tree);
    await eraseEvents(store, { partition, tree });
    await store.approvals.erase(partition, tree);
    await this.#forget(Partition.key(partition, tree), { kind: "forget", runs, whole: true });
  }

  /** Destroys the key, as the last action. The audit entry is written first, so that it is never missing. */
  async #forget(
    key: string,
    { runs, whole }: Extract<ProjectorOrder, { readonly kind: "forget" }>,
  ): Promise<void> {
    const { now, keys, audit, store } = this.#host;
    const { partition, tree } = treeAt({ type: "tree", key });
    if (runs > 0) await audit.record(partition, [erasure(tree, { runs, whole, at: now() })]);
    if (whole) await store.eraseTree(partition, tree);
    else {
      await store.cache.erase(partition, tree);
      await store.manifests.erase(partition, tree);
    }
    await keys?.destroy?.(key);
  }
}

/** Returns the time of an order, or of the oldest event in it. Undefined: it has none. */
function timeOf(order: ProjectorOrder): number | undefined {
  if (order.kind === "events") return order.batch.events[0]?.at ?? order.at;
  if (order.kind === "note") return order.note.at;
  return "at" in order ? order.at : undefined;
}

/** Returns the audit notes of events. */
function toAuditNotes(events: readonly NumberedEvent[]): readonly AuditNote[] {
  return events.flatMap((event) => auditOf(event) ?? []);
}

/** Returns the events without the content of runs whose retention is `none`. */
function eraseUnkept(
  events: readonly NumberedEvent[],
  retentions: ReplyOf<"drain">["retentions"],
): readonly NumberedEvent[] {
  if (!Object.values(retentions).includes("none")) return events;
  return events.map((event) => (retentions[event.runId] === "none" ? eraseEvent(event) : event));
}

const reduceRun = (run: RunRecord): RunRecord => ({ ...reduce(run), name: null });

function reduceApproval(approval: ApprovalRequest): ApprovalRequest {
  const { decision: _, ...erased } = eraseApproval({ ...approval, decision: null });
  return reduce({ ...erased, treeName: undefined, sources: undefined, parents: undefined });
}

const reduceEvents = (events: readonly NumberedEvent[]): readonly NumberedEvent[] =>
  events.map((event) => reduce(eraseEvent(event)));

function ignoreThrow(act: () => void): void {
  try {
    act();
  } catch {
    // The failure has no effect here.
  }
}
