import {
  Json,
  NotFoundError,
  Partition,
  ReeveError,
  RetryableError,
  RunId,
  type Agent,
  type ApiKeyStore,
  type Engine,
  type FailureLog,
  type Input,
  type RunStatus,
  type SinkDefinition,
  type TreeId,
} from "#kernel";
import {
  callTree,
  isOfSchedule,
  tickSinkType,
  tickTree,
  treeAddress,
  withProtocol,
  type ScheduleReply,
  type TickOrder,
  type TickResult,
} from "#tree";
import { SinkHealth } from "./sink-health.ts";
import type { StartOptions } from "./start-options.ts";

/*
 * Starts the trees of schedules. A schedule sends an order for each tick (`TickOrder`). The engine delivers those of
 * one schedule one after the other, and retries until they succeed.
 *
 * 1. An order is idempotent: the id of the tree is derived from the tick, and the same id is the same tree.
 * 2. All calls are made from outside, not through the journal of the order: the facts, such as a revoked key, may
 *    differ between two tries.
 * 3. A transient failure is thrown, so the order is retried. A permanent one is the result of the tick.
 */

/** The dependencies of {@link TickSink}. */
export interface TickSinkDeps {
  readonly engine: Engine;
  readonly agentOf: (type: string) => Agent;
  readonly start: (agent: Agent, input: Input, options: StartOptions) => Promise<unknown>;
  /** Null: there is no store. */
  readonly apiKeys: Pick<ApiKeyStore, "find"> | null;
  readonly now: () => number;
  /** Takes failures of starts that are repeated. */
  readonly log: FailureLog | undefined;
}

const liveStatuses: ReadonlySet<RunStatus> = new Set(["pending", "running", "waiting", "paused"]);

/** Permanent errors of a start. A tick of a disabled agent is over: the next one is tried. */
const finalCodes: ReadonlySet<string> = new Set(["disabled", "not-found", "invalid-input", "too-large"]);

/** Errors of a start whose tree exists: an earlier try has started it, with the content that was set then. */
const startedCodes: ReadonlySet<string> = new Set(["id-conflict", "key-destroyed"]);

/** Starts the tree of each tick, or records why there is none. */
export class TickSink implements SinkDefinition {
  readonly type = tickSinkType;
  readonly #deps: TickSinkDeps;
  readonly #health: SinkHealth;

  constructor(deps: TickSinkDeps) {
    this.#deps = deps;
    this.#health = new SinkHealth({ name: "the starter of a schedule", now: deps.now, log: deps.log });
  }

  async take(key: string, argument: Json): Promise<void> {
    const order = Json.as<TickOrder>(argument);
    await this.#health.take(key, order.tick, () => this.#run(key, order));
  }

  async #run(key: string, order: TickOrder): Promise<void> {
    const { engine } = this.#deps;
    const schedule = { type: "schedule", key };
    const found = Json.as<ScheduleReply | null>(await engine.call(schedule, "get", withProtocol(null)));
    // Removed, paused or set to other times since.
    if (!found || !isOfSchedule(found, order)) return;
    const tenant = Partition.parse(key).partition.tenantId ?? undefined;
    const result = await this.#decide(found, order.tick, tenant);
    await engine.call(schedule, "ticked", withProtocol(result));
  }

  async #decide(found: ScheduleReply, tick: number, tenant: string | undefined): Promise<TickResult> {
    const { spec, state } = found;
    const treeId = tickTree(found, tick);
    const result = { tick, at: this.#deps.now(), treeId, error: null };
    const { lastTree } = state;
    const mayOverlap = spec.overlap === "start" || lastTree === null || lastTree === treeId;
    if (!mayOverlap && (await this.#isLive(lastTree, tenant)))
      return { ...result, outcome: "skipped", treeId: lastTree };
    const refusal = await this.#refusal(spec.key);
    if (refusal !== null && (await this.#status(treeId, tenant)) === null)
      return { ...result, outcome: "failed", treeId: null, error: refusal };
    if (refusal !== null) return { ...result, outcome: "started" };
    const error = await this.#start(found, { tick, treeId, tenant });
    return error === null
      ? { ...result, outcome: "started" }
      : { ...result, outcome: "failed", treeId: null, error };
  }

  /** Starts the tree. Returns the code of a permanent error. Null: the tree exists. */
  async #start(
    { spec }: ScheduleReply,
    {
      tick,
      treeId,
      tenant,
    }: { readonly tick: number; readonly treeId: TreeId; readonly tenant?: string | undefined },
  ): Promise<string | null> {
    const { agentOf, start } = this.#deps;
    const { id, user, options } = spec;
    const owner = { ...(tenant !== undefined && { tenant }), ...(user !== null && { user }) };
    const metadata = { ...options.metadata, schedule: id, tick: new Date(tick).toISOString() };
    try {
      await start(agentOf(spec.agent), spec.input, { ...options, ...owner, metadata, id: treeId });
      return null;
    } catch (error) {
      const code = ReeveError.is(error) ? error.code : "";
      if (startedCodes.has(code)) return null;
      if (finalCodes.has(code)) return error instanceof NotFoundError ? `unknown-${error.what}` : code;
      throw error;
    }
  }

  async #isLive(tree: TreeId, tenant: string | undefined): Promise<boolean> {
    const status = await this.#status(tree, tenant);
    return status !== null && liveStatuses.has(status);
  }

  #status(tree: TreeId, tenant: string | undefined): Promise<RunStatus | null> {
    const { engine } = this.#deps;
    const address = treeAddress(tree, tenant);
    return callTree((method, given) => engine.call(address, method, given), "status", {
      run: RunId.root(tree),
    });
  }

  /** Returns the reason why a key starts nothing. Null: it may, or the schedule depends on none. */
  async #refusal(key: string | null): Promise<string | null> {
    const { apiKeys, now } = this.#deps;
    if (key === null) return null;
    if (!apiKeys)
      throw new RetryableError({
        message:
          "a schedule was set with an API key, and this worker has no store to look it up: createRuntime({ store })",
      });
    const record = await apiKeys.find(key);
    if (!record) return "key-revoked";
    return record.expiresAt <= now() ? "key-expired" : null;
  }
}
