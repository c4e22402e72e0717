import { setTimeout as delay } from "node:timers/promises";
import { AttemptId, Partition, type SessionEntry, type StepId, type Store } from "reeve/store";
import {
  createRuntime,
  Json,
  type NumberedEvent,
  ReeveError,
  type RunHandle,
  RunId,
  type Runtime,
  SessionId,
  type Usage,
} from "reeve";
import { restate, type RestateEngine } from "reeve/engines/restate";
import { postgresStore } from "reeve/stores/postgres";
import type {
  AuditHistory,
  CancelHistory,
  ConversationHistory,
  LedgerEnd,
  StepHistory,
  TreeEnd,
  TreeHistory,
} from "./history.ts";
import type { Stage } from "./stage/stage.ts";
import { agentsOf } from "./workload/agents.ts";
import { price } from "./workload/price.ts";
import type { OutsideAct, TreePlan } from "./workload/plan.ts";
import { withProtocol } from "../../src/tree/protocol-number.ts";

/** A tree that was accepted. */
export interface Played {
  readonly plan: TreePlan;
  readonly handle: RunHandle;
  readonly events: NumberedEvent[];
  readonly eventsAgain: NumberedEvent[];
  /** Resolves when the first subscriber has seen the tree's end. */
  readonly over: Promise<void>;
  /** Its model steps, read as soon as it has ended, because non-permanent content is erased soon. */
  readonly steps: Promise<readonly StepHistory[]>;
  /** Resolves when also the second subscriber has, and everything planned was done to it. */
  readonly done: Promise<unknown>;
  cancel: CancelHistory | null;
}

/** Options of an external client. */
interface ClientOptions {
  readonly namespace: string;
  /** When aborted, nothing is retried. */
  readonly over: AbortSignal;
  /** Lets held runs go on, and answers their questions. Default true. */
  readonly helps?: boolean;
}

/** An external client: starts trees, watches them, and applies the planned actions. Not a worker. */
export class Client implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #engine: RestateEngine;
  readonly #store: Store;
  readonly #over: AbortSignal;
  readonly #helps: boolean;
  #played = 0;
  /** Accepted runs, children included. */
  accepted = 0;
  /** Number of reconnects of subscribers. */
  resumptions = 0;
  /** Number of held runs that were resumed manually. */
  resumed = 0;

  private constructor(
    parts: { readonly runtime: Runtime; readonly engine: RestateEngine; readonly store: Store },
    { over, helps }: { readonly over: AbortSignal; readonly helps: boolean },
  ) {
    this.#runtime = parts.runtime;
    this.#engine = parts.engine;
    this.#store = parts.store;
    this.#over = over;
    this.#helps = helps;
  }

  static async open(
    { restate: server, database }: Stage,
    { namespace, over, helps = true }: ClientOptions,
  ): Promise<Client> {
    const { ingress, admin } = server;
    const engine = restate({ ingress, admin, namespace, connectTimeoutMs: 60_000, log: () => {} });
    const store = await postgresStore({ connectionString: database });
    // Much longer than a cancel may take: a run that only the end of the grace stops was never told.
    const runtime = createRuntime({ agents: Object.values(agents), engine, store, cancelGraceS: 60 });
    return new Client({ runtime, engine, store }, { over, helps });
  }

  /** Starts a tree and all that goes with it. */
  async play(plan: TreePlan): Promise<Played> {
    const { id, tenant, budget, spawn, task, session, isUntrusted } = plan;
    const agent = agents[plan.agent];
    if (!agent) throw new TypeError(`no agent ${plan.agent}`);
    const turn = session === null ? {} : ({ session, onBusy: "queue" } as const);
    const start = { id, tenant, budget, spawn, labels: { untrusted: isUntrusted }, ...turn };
    const handle = await this.#insist(() => this.#runtime.start(agent, task, start));
    this.accepted += 1;
    const events: NumberedEvent[] = [];
    const eventsAgain: NumberedEvent[] = [];
    const over = this.#subscribe(handle, events, Infinity, (event) => this.#help(plan, event));
    const again = (): Promise<void> => this.#subscribe(handle, eventsAgain, 20, () => {});
    // Every eighth second subscriber watches from the start; the others read after the end.
    const read = this.#played++ % 8 === 0 ? again() : over.then(again);
    const steps = over.then(() => this.#insist(() => this.#steps(handle, tenant)));
    const played: Played = { plan, handle, events, eventsAgain, over, steps, done: read, cancel: null };
    const acts = plan.acts.map((act) => this.#act(played, act));
    for (const each of [over, read, steps, ...acts]) each.catch(() => undefined);
    return Object.assign(played, { done: Promise.allSettled([over, read, steps, ...acts]) });
  }

  /** Reports the provider's bill of an attempt in doubt to the ledger. Returns false if it is not in doubt. */
  reconcile({ handle }: Played, attempt: string, usage: Usage): Promise<boolean> {
    return handle.reconcile(AttemptId.of(attempt), usage);
  }

  /** Returns the history of a tree after all have ended. */
  async history({ plan, handle, events, eventsAgain, steps, cancel }: Played): Promise<TreeHistory> {
    const end = await this.#end(plan, handle);
    return {
      plan,
      end,
      events,
      eventsAgain,
      cancel: cancel && { ...cancel, receipt: await this.#receipt(plan, cancel) },
      ledger: await this.#ledger(plan, handle),
      runs: await this.#runtime.runs.tree(handle.treeId, { tenant: plan.tenant }),
      endAgain: await this.#end(plan, handle),
      // A tree that has not ended has none here: another predicate reports it.
      steps: end === null ? [] : await steps.catch(() => []),
    };
  }

  /** Builds the prompts of a tree's model calls again. */
  async #steps({ treeId }: RunHandle, tenant: string): Promise<readonly StepHistory[]> {
    const runs = await this.#runtime.runs.tree(treeId, { tenant });
    const steps: StepHistory[] = [];
    for (const { runId } of runs) {
      const { items } = await this.#runtime.steps(runId, { tenant, size: 1_000 });
      for (const { stepId } of items)
        if (stepId.startsWith(`${runId}:model`)) steps.push(await this.#step(stepId, tenant));
    }
    return steps;
  }

  /** Non-permanent content may be erased during the read, which is then repeated. */
  async #step(id: StepId, tenant: string, isAgain = false): Promise<StepHistory> {
    const { runId, at, content, isEqual } = await this.#runtime.prompt(id, { tenant });
    if (content === "recorded" && !isEqual && !isAgain) return this.#step(id, tenant, true);
    return { id, at, content, isEqual, isPermanent: RunId.isRoot(runId) };
  }

  /** Returns a conversation after all trees have ended: the positions and labels of its entries, not their content. */
  async conversation(tenant: string, session: string): Promise<ConversationHistory> {
    const { sessions } = this.#runtime.store;
    const [partition, key] = [Partition.of(tenant), { id: SessionId.of(session), userId: null }];
    const entries: SessionEntry[] = [];
    for (let after: SessionEntry["id"] | null = null; ; after = entries.at(-1)?.id ?? null) {
      const page = await sessions.entries(partition, key, { after, limit: 1_000 });
      entries.push(...page);
      if (page.length < 1_000) break;
    }
    const places = entries.map((entry) => {
      const { id, parentId, branch, labels } = entry;
      const isAnswer = entry.type === "message" && entry.message.role === "assistant";
      return { id, parentId, branch, isAnswer, isUntrusted: labels?.untrusted ?? false };
    });
    return { tenant, session, leaf: await sessions.leaf(partition, key, null), entries: places };
  }

  /** Returns a tenant's audit after all trees have ended. */
  async audit(tenant: string): Promise<AuditHistory> {
    const { audit } = this.#runtime;
    const verdict = await audit.verify({ tenant });
    const links = await audit.read({ tenant, limit: 1_000_000 });
    return {
      tenant,
      fault: verdict.ok ? null : `link ${verdict.at} is ${verdict.fault}`,
      sources: links.map(({ source }) => source),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime[Symbol.asyncDispose]();
    await this.#store[Symbol.asyncDispose]();
  }

  async #end({ tenant, id }: TreePlan, { runId }: RunHandle): Promise<TreeEnd | null> {
    const reply = await this.#engine.call(
      { type: "tree", key: `${tenant}/${id}` },
      "result",
      withProtocol({ run: runId }),
    );
    const result = Json.as<TreeEnd | null>(reply);
    if (result === null) return null;
    const { status, stopReason, costMicros, inDoubtMicros } = result;
    return { status, stopReason, costMicros, inDoubtMicros };
  }

  async #receipt({ tenant, id }: TreePlan, { number }: CancelHistory): Promise<CancelHistory["receipt"]> {
    return Json.as(
      await this.#engine.call({ type: "tree", key: `${tenant}/${id}` }, "receipt", withProtocol({ number })),
    );
  }

  async #ledger({ tenant, id }: TreePlan, { runId }: RunHandle): Promise<LedgerEnd> {
    const reply = await this.#engine.call(
      { type: "tree", key: `${tenant}/${id}` },
      "ledger",
      withProtocol({ run: runId }),
    );
    const { tree, live } = Json.as<{
      readonly tree: { readonly account: Omit<LedgerEnd, "slots"> };
      readonly live: readonly string[];
    }>(reply);
    const { settled, reserved, inDoubt } = tree.account;
    return { settled, reserved, inDoubt, slots: live };
  }

  /** Reads events until the tree has ended. After a failure, or a number of events, it reconnects with its cursor. */
  async #subscribe(
    handle: RunHandle,
    into: NumberedEvent[],
    many: number,
    seen: (event: NumberedEvent) => void,
  ): Promise<void> {
    for (;;) {
      let left = many;
      try {
        for await (const event of handle.events({ from: into.at(-1)?.seq ?? 0, signal: this.#over })) {
          into.push(event);
          seen(event);
          left -= 1;
          if (left === 0) break;
        }
        if (left > 0) return;
      } catch (error) {
        if (this.#over.aborted) throw error;
        await delay(50);
      }
      this.resumptions += 1;
    }
  }

  /** Counts, and takes the user actions that runs wait for. */
  #help({ tenant }: TreePlan, event: NumberedEvent): void {
    if (event.type === "spawn.admitted") this.accepted += 1;
    if (!this.#helps) return;
    const run = this.#runtime.run(event.runId, { tenant });
    if (event.type === "run.paused" && event.cause === "held") {
      this.resumed += 1;
      void this.#insist(() => run.resume()).catch(() => undefined);
    }
    if (event.type === "approval.requested")
      // Asked again, it was decided before.
      void this.#insist(() => run.approve(event.approvalId)).catch(() => undefined);
  }

  async #act(played: Played, { afterMs, act }: OutsideAct): Promise<void> {
    const { plan, handle } = played;
    await delay(afterMs);
    switch (act.kind) {
      case "cancel":
        return this.#cancel(played);
      case "signal":
        return this.#insist(() => handle.signal(act.name, plan.secret, { id: act.id }));
      case "steer":
        return this.#insist(() => handle.steer(act.text));
      case "followUp":
        return this.#insist(() => handle.followUp(act.text));
    }
  }

  /** Bypasses the handle, which returns only when all have ended, to learn when the tree accepted the cancel. */
  async #cancel(played: Played): Promise<void> {
    const { plan, handle } = played;
    const askedAt = Date.now();
    const argument = { run: handle.runId, reason: "enough", at: askedAt };
    const tree = { type: "tree", key: `${plan.tenant}/${plan.id}` };
    const number = await this.#insist(() => this.#engine.call(tree, "cancel", withProtocol(argument)));
    if (typeof number !== "number") return;
    played.cancel = { run: handle.runId, number, askedAt, acceptedAt: Date.now(), receipt: null };
  }

  /** Retries until it works: servers restart. A refusal by the tree itself is final. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isFinal = ReeveError.is(error) && !error.retryable;
        if (isFinal || this.#over.aborted) throw error;
        await delay(100);
      }
    }
  }
}

/** Their names and prices: their code runs elsewhere. */
const agents = agentsOf({
  model: (id) => ({ id, price, generate: () => Promise.reject(new Error("this is not a worker")) }),
  sink: "",
});
