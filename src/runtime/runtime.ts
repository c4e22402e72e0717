import { hash, randomUUID } from "node:crypto";
import {
  AgentId,
  ExecutionBudget,
  Json,
  Labels,
  MessageId,
  Money,
  NotFoundError,
  Partition,
  RunId,
  SessionId,
  SpawnBudget,
  TenantId,
  TraceParent,
  TreeId,
  UserId,
  type Agent,
  type Approver,
  type Clock,
  type Engine,
  type Guardrail,
  type HistoryRetention,
  type JsonObject,
  type Keys,
  type ObjectAddress,
  type PermissionRule,
  type Permissions,
  type Price,
  type Priority,
  type Store,
} from "#kernel";
import { allowAll, defaultPermissions, systemClock } from "#agents";
import type { Block } from "#ledger";
import { sealedStore, Seals } from "#sealing";
import { partitionOf, tenantKeyOf, treeAddress, treeAt } from "./addresses.ts";
import { Approvals } from "./approvals.ts";
import type { DeltaEndpointOptions } from "./deltas/delta-endpoint.ts";
import { Deltas, type DeltasHost } from "./deltas/deltas.ts";
import { Audit } from "./audit/audit.ts";
import { auditKeys } from "./audit/audit-keys.ts";
import { AuditWriter } from "./audit/audit-writer.ts";
import { Projector } from "./projector.ts";
import { execute } from "./run/execute.ts";
import { RunHandle } from "./run-handle.ts";
import { Runs } from "./runs.ts";
import { type InvokeArgument, sessionObject } from "./session-object.ts";
import { tenantObject } from "./tenant-object.ts";
import type { OpenArgument } from "./tree/protocol.ts";
import type { AgentsRecord } from "./tree/records.ts";
import { callTree, treeObject } from "./tree/tree-object.ts";

const defaultExpiresS = 7 * 24 * 60 * 60;

/** What a runtime is made of. */
export interface RuntimeOptions {
  /** Everybody who can be hired. */
  readonly agents: readonly Agent[];
  readonly engine: Engine;
  /**
   * What lasts: events, lists of runs and the audit are written there, and read from there. An engine that seals what
   * leaves the process seals its content, too. Default: nothing is kept.
   */
  readonly store?: Store;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** What each tenant may spend in all its trees. Default: no limit. */
  readonly tenantBudget?: (
    tenant: TenantId | null,
  ) => Pick<ExecutionBudget, "maxTokens" | "maxCostUsd"> | null;
  /** Who decides about tools where an agent says nothing. Default: safe ones run, others are refused. */
  readonly permissions?: Permissions | "allow-all";
  /**
   * Who decides about calls that need somebody's word: people, through `approvals`, or code. Default nobody: such calls
   * are refused.
   */
  readonly approver?: "people" | Approver;
  /** How long a question to people stands; then the call is refused. Default a week. */
  readonly approvalExpiresS?: number;
  /** Who looks at what goes in and out of every agent, before the agent's own guardrails. Default: nobody. */
  readonly guardrails?: readonly Guardrail[];
  /**
   * What happens to a call by which something leaves a run that has seen both untrusted and private content: somebody
   * has to approve it, or nothing. Default ask; a rule with `ruleOfTwo: "exempt"` makes an exception.
   */
  readonly ruleOfTwo?: "ask" | "off";
  /** How often a run that crashed is started again. Default 3. */
  readonly maxRestarts?: number;
  /** How long a run that must yield may finish its call before it is aborted. Default 60. */
  readonly yieldTimeoutS?: number;
  /**
   * How long after its end a tree still tells what does not stay: outputs, and words in events, of runs whose retention
   * is not `permanent`. Then its key is destroyed. Default 30.
   */
  readonly eraseAfterS?: number;
  /** How long a run stands in line before it moves forward by one level. Default 60. */
  readonly ageingS?: number;
}

/** How a tree is started. */
export interface StartOptions {
  /** Names the tree: the same id again is the same tree. Default: a fresh one. */
  readonly id?: string;
  readonly tenant?: string;
  readonly user?: string;
  /** The conversation. One tree at a time has its turn in it. Default: a fresh one. */
  readonly session?: string;
  /** When another tree has the turn: throw a SessionBusyError, or wait as `pending` until it is over. Default refuse. */
  readonly onBusy?: "refuse" | "queue";
  readonly channel?: string;
  readonly metadata?: JsonObject;
  /** Default: the agent's, else permanent. */
  readonly retention?: HistoryRetention;
  /** What the whole tree may spend. Default: no limit. */
  readonly budget?: ExecutionBudget;
  /** How many agents may live at once. Default 50, preemption allowed. */
  readonly spawn?: Partial<SpawnBudget>;
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** What nobody in the tree may do, or must ask about: narrower than what agents and runtime allow. Default: nothing. */
  readonly permissions?: readonly PermissionRule[];
  /** The `traceparent` of the request that asks for it: its spans come below that one's. One that is none is ignored. */
  readonly traceparent?: string;
  /** What the input is: for example a mail from a stranger. Default: nothing untrusted, nothing private. */
  readonly labels?: Partial<Labels>;
  /** Seconds the whole tree may take. Default: the budget's. */
  readonly deadlineS?: number;
}

/** How a process becomes a worker. */
export interface ServeOptions {
  readonly port: number;
  /**
   * Where other processes may watch the answers of models as they come, if there is a store to list it in. Default: a
   * free port of `127.0.0.1`. Null: nowhere; models are then asked to stream only while somebody watches here.
   */
  readonly deltas?: DeltaEndpointOptions | null;
}

/** Starts trees and finds them again. */
export class Runtime {
  readonly #options: RuntimeOptions;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #clock: Clock;
  readonly #deltas: Deltas;
  readonly #prices: OpenArgument["prices"];
  readonly #projector: Projector | null;
  /** Runs that are and were, as the store has them. */
  readonly runs: Runs;
  /** Questions to people. */
  readonly approvals: Approvals;
  /** What was decided, by whom, in a chain that shows whether anybody changed it. */
  readonly audit: Audit;

  constructor(options: RuntimeOptions) {
    const keys = options.engine.keysIn(options.store?.lasts ? options.store.keys : null);
    const seals = keys && new Seals(keys);
    const store =
      options.store?.lasts && keys && seals ? sealedStore(options.store, keys, seals) : options.store;
    this.#options = { ...options, ...(store && { store }) };
    this.#clock = options.clock ?? systemClock;
    this.#agents = new Map(options.agents.map((agent) => [AgentId.type(agent.id), agent]));
    this.#prices = pricesOf(options.agents);
    this.#deltas = new Deltas({ clock: this.#clock, others: othersOf(store, seals) });
    this.approvals = new Approvals(options.engine, store ?? null, () => this.#clock.now());
    const audited = store ? { store, keys: keys ?? auditKeys(store) } : null;
    this.#projector = audited && this.#projectorInto(audited.store, keys, audited.keys);
    this.runs = new Runs(store ?? null);
    this.audit = new Audit(audited);
    const execution = {
      agentOf: (type: string) => this.#agentOf(type),
      clock: this.#clock,
      permissions:
        options.permissions === "allow-all" ? allowAll : (options.permissions ?? defaultPermissions),
      approvals: {
        approver: options.approver ?? null,
        expiresS: options.approvalExpiresS ?? defaultExpiresS,
      },
      guardrails: options.guardrails ?? [],
      ruleOfTwo: options.ruleOfTwo ?? "ask",
      deltas: this.#deltas.hub,
    };
    const trees = {
      agents: termsOf(this.#agents),
      projects: this.#projector !== null,
      eraseAfterMs: (options.eraseAfterS ?? 30) * 1000,
    };
    options.engine.define({
      build: this.#build(),
      objects: [treeObject(trees), sessionObject, tenantObject],
      sinks: this.#projector ? [this.#projector] : [],
      run: (primitives) => execute(primitives, execution),
    });
  }

  /** Makes this process a worker of its engine. */
  async serve({ port, deltas = {} }: ServeOptions): Promise<void> {
    if (deltas) await this.#deltas.serve(deltas);
    try {
      await this.#options.engine.serve({ port });
    } catch (error) {
      await this.#deltas.close();
      throw error;
    }
  }

  /**
   * Makes this process take no more work: what waits goes elsewhere at once, a step that runs may end first. Resolves
   * when nothing runs here, at the latest after `graceMs` (default 25 seconds): then it is time to end the process.
   */
  async drain(options: { readonly graceMs?: number } = {}): Promise<void> {
    await this.#options.engine.drain(options);
  }

  /** Starts a tree. Returns once it is accepted. @throws IdConflictError if the id names another one; SessionBusyError. */
  async start(agent: Agent, input: string, options: StartOptions = {}): Promise<RunHandle> {
    this.#agentOf(AgentId.type(agent.id));
    const treeId = TreeId.of(options.id ?? randomUUID());
    const tree = treeAddress(treeId, options.tenant);
    const block = await this.#limitTenant(tree, options.tenant);
    const argument = this.#opening(agent, input, treeId, block, options);
    await this.#open(tree, argument, options);
    return this.#handle(tree, RunId.root(treeId));
  }

  /** In a conversation that has a name, trees take turns. */
  async #open(
    tree: ObjectAddress,
    open: OpenArgument,
    { session, onBusy = "refuse" }: StartOptions,
  ): Promise<void> {
    const { engine } = this.#options;
    if (session === undefined) {
      await callTree((method, given) => engine.call(tree, method, given), "open", open);
      return;
    }
    const key = Partition.part(treeAt(tree).partition, session);
    const turn: InvokeArgument = { tree, open, onBusy };
    await engine.call({ type: sessionObject.type, key }, "invoke", Json.of(turn));
  }

  /** The handle of a tree's root, or of any run. */
  run(id: string, options: { readonly tenant?: string } = {}): RunHandle {
    const runId = id.includes("~") ? RunId.parse(id) : RunId.root(TreeId.of(id));
    return this.#handle(treeAddress(RunId.tree(runId), options.tenant), runId);
  }

  /** Everybody who can be hired. */
  get agents(): readonly Agent[] {
    return this.#options.agents;
  }

  /** The tree that has the turn in a conversation that has a name; null if nobody has. */
  async turn(session: string, options: { readonly tenant?: string } = {}): Promise<TreeId | null> {
    const key = Partition.part(partitionOf(options.tenant), session);
    const holder = await this.#options.engine.call({ type: sessionObject.type, key }, "turn", null);
    return holder === null ? null : treeAt(Json.as<ObjectAddress>(holder)).tree;
  }

  /** The store with its content open. @throws TypeError without one. */
  get store(): Store {
    const { store } = this.#options;
    if (!store) throw new TypeError("there is no store: createRuntime({ store })");
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deltas.close();
    await this.#options.engine[Symbol.asyncDispose]();
  }

  /** How far the store is behind, by what this process wrote last; null without a store. */
  get lagMs(): number | null {
    return this.#projector?.lagMs ?? null;
  }

  #projectorInto(store: Store, keys: Keys | null, chained: Keys): Projector {
    const now = (): number => this.#clock.now();
    const audit = new AuditWriter({ audit: store.audit, keys: chained, now });
    return new Projector({ store, audit, keys, now });
  }

  #handle(tree: ObjectAddress, runId: RunId): RunHandle {
    const { engine, store = null } = this.#options;
    const now = (): number => this.#clock.now();
    const host = { engine, store, deltas: this.#deltas, now, uuid: () => randomUUID() };
    return new RunHandle(host, tree, { treeId: RunId.tree(runId), runId });
  }

  /** Agents of the same names and versions can take over each other's runs. */
  #build(): string {
    const agents = [...this.#agents].map(([type, { version = "1" }]) => `${type}@${version}`);
    return hash("sha256", agents.toSorted().join("\n"));
  }

  #agentOf(type: string): Agent {
    const agent = this.#agents.get(type);
    if (!agent) throw new NotFoundError({ what: "agent", id: type });
    return agent;
  }

  #opening(
    agent: Agent,
    input: string,
    treeId: TreeId,
    block: Block | null,
    options: StartOptions,
  ): OpenArgument {
    const at = this.#clock.now();
    const { deadlineS } = options;
    const caller = TraceParent.parse(options.traceparent ?? "");
    return {
      treeId,
      inputHash: hash("sha256", `${agent.id}\n${input}`),
      agentId: agent.id,
      version: agent.version ?? "1",
      boot: {
        id: MessageId.of(`${treeId}:input`),
        from: { kind: "outside", name: options.user ?? "user" },
        text: input,
        ...(options.labels && { labels: Labels.of(options.labels) }),
        at,
      },
      scope: {
        tenantId: options.tenant === undefined ? null : TenantId.of(options.tenant),
        userId: options.user === undefined ? null : UserId.of(options.user),
        sessionId: SessionId.of(options.session ?? randomUUID()),
        channel: options.channel ?? null,
        metadata: options.metadata ?? {},
      },
      traceId: caller?.traceId ?? hash("sha256", treeAddress(treeId, options.tenant).key).slice(0, 32),
      caller: caller && TraceParent.format(caller),
      spawn: SpawnBudget.of(options.spawn),
      treeBudget: ExecutionBudget.of({ ...options.budget, ...(deadlineS !== undefined && { deadlineS }) }),
      rootBudget: ExecutionBudget.of(agent.budget),
      block,
      priority: options.priority ?? agent.priority ?? "normal",
      retention: options.retention ?? agent.retention ?? "permanent",
      rules: options.permissions ?? [],
      prices: this.#prices,
      ageingMs: (this.#options.ageingS ?? 60) * 1000,
      yieldTimeoutMs: (this.#options.yieldTimeoutS ?? 60) * 1000,
      maxRestarts: this.#options.maxRestarts ?? 3,
      session: null,
      waits: false,
      at,
    };
  }

  async #limitTenant(tree: ObjectAddress, tenant: string | undefined): Promise<Block | null> {
    const budget = this.#options.tenantBudget?.(tenant === undefined ? null : TenantId.of(tenant)) ?? null;
    if (!budget) return null;
    const maxCost = budget.maxCostUsd === undefined ? null : Money.cap(budget.maxCostUsd);
    const limits = { maxTokens: budget.maxTokens ?? null, maxCost };
    const address = { type: "tenant", key: tenantKeyOf(tree) };
    await this.#options.engine.call(address, "limit", Json.of(limits));
    return { tokens: limits.maxTokens === null ? null : 0, cost: limits.maxCost === null ? null : 0 };
  }
}

/** Processes find each other in the store; an engine of one process has no others. */
function othersOf(store: Store | undefined, seals: Seals | null): DeltasHost["others"] {
  if (!store || !seals) return null;
  return { workers: store.workers, sealer: (key) => seals.of(key) };
}

/** On which terms agents are hired where nobody says otherwise. */
function termsOf(agents: ReadonlyMap<string, Agent>): AgentsRecord {
  const terms = [...agents].map(([type, agent]) => {
    const { version = "1", priority = "normal", budget = null, retention = "run" } = agent;
    return [type, { version, priority, budget, retention, tools: null }] as const;
  });
  return Object.fromEntries(terms);
}

/** Prices as they are now: a tree keeps them however they change. */
function pricesOf(agents: readonly Agent[]): OpenArgument["prices"] {
  const prices: Record<string, Price> = {};
  for (const { model } of agents) if (model?.price) prices[model.id] = model.price;
  return prices;
}
