import { randomUUID } from "node:crypto";
import {
  AgentId,
  checkDuration,
  Json,
  NotFoundError,
  RunId,
  RuntimeClosedError,
  StepId,
  TreeId,
  type Agent,
  type Clock,
  type Input,
  type ObjectAddress,
  type Page,
  type PageRequest,
  type Store,
  type StoreHealth,
} from "#kernel";
import { agentVersion, programAgents } from "#agents";
import { systemClock } from "#base";
import { treeAddress, treeAt, withProtocol, type CompactionOrder, sessionAddress } from "#tree";
import { buildOf, treeHostOf } from "./agent-terms.ts";
import { Approvals } from "./approvals.ts";
import { Deltas } from "#deltas";
import { Audit, auditKeys } from "#audit";
import type { ConversationDeps, Owner } from "./conversation.ts";
import { conversationHost } from "./conversation-host.ts";
import { Conversations } from "./conversations.ts";
import { checkDurations } from "./check-options.ts";
import { Memories } from "./memories.ts";
import { addPrices, checkProgram, checkStart } from "./check-program.ts";
import { checkAfter } from "./check-after.ts";
import { createOpening } from "./create-opening.ts";
import { createProjector } from "./create-projector.ts";
import { Erasure } from "./erasure.ts";
import { executionPolicy } from "./execution-policy.ts";
import { openTree } from "./open-tree.ts";
import { createSealing, sealStore } from "./create-sealing.ts";
import { type PriceList, createPromptDeps, execute, type PromptDeps, SwitchCache } from "#run";
import { checkTask } from "./check-task.ts";
import type { ExtendedAgents } from "./extended-agents.ts";
import { RuntimeExtensions, type ExtensionErrorRecord } from "./extension-host.ts";
import { createNameContent, createPrepareInput, type PrepareInput } from "./prepare-input.ts";
import { createObjects } from "./program-objects.ts";
import type { Projector } from "./projector.ts";
import { RunHandle } from "./run-handle.ts";
import { Runs } from "./runs.ts";
import { createScheduling } from "./create-scheduling.ts";
import type { Schedules } from "./schedules.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import type { ServeOptions, StartOptions } from "./start-options.ts";
import { listSteps, readStep, type StepPrompt } from "./step-content.ts";
import { Sweep } from "./sweep.ts";
import { Switches } from "./switches.ts";
import { Tenants } from "./tenants.ts";
import type { StepSummary } from "./unrecorded-steps.ts";
import { whileIdle } from "./while-idle.ts";
import { createWebhooks, type Webhooks, type WebhookParts } from "#webhooks";

/** Starts trees and finds existing ones. */
export class Runtime {
  readonly #options: RuntimeOptions;
  readonly #agents: ExtendedAgents;
  readonly #extensions: RuntimeExtensions;
  readonly #clock: Clock;
  readonly #deltas: Deltas;
  readonly #prices: PriceList;
  readonly #projector: Projector | null;
  #erasure: Erasure | null = null;
  readonly #sweep: Sweep;
  readonly #webhooks: WebhookParts;
  readonly #closed = new AbortController();
  readonly #prompt: PromptDeps;
  readonly #prepareInput: PrepareInput;
  /** Live and ended runs, from the store. */
  readonly runs: Runs;
  /** Conversations of users with agents. */
  readonly sessions: Conversations;
  /** The memory of agents about users. */
  readonly memory: Memories;
  /** Approval requests to people. */
  readonly approvals: Approvals;
  /** Budgets of tenants and their users. */
  readonly tenants: Tenants;
  /** Disables tenants, agents and tools. */
  readonly switches: Switches;
  /** Schedules that start trees. */
  readonly schedules: Schedules;
  /** The audit: decisions and their deciders, in a tamper-evident hash chain. */
  readonly audit: Audit;

  /** @throws ProgramError with all mistakes of the program; RangeError on an invalid duration. */
  constructor(options: RuntimeOptions) {
    const { agents, extended, prices } = checkProgram(options.agents, options);
    checkDurations({ ...options, agents: [...extended.byType.values()] });
    if (options.telemetry && !options.store)
      throw new TypeError("telemetry needs a store: createRuntime({ store })");
    const sealing = createSealing(options);
    const { keys = null, seals = null } = sealing ?? {};
    const store = sealStore(options, sealing);
    this.#options = { ...options, agents, ...(store && { store }) };
    this.#clock = options.clock ?? systemClock;
    this.#agents = extended;
    const means = { ...options, clock: this.#clock, store: store ?? null, uuid: randomUUID };
    this.#extensions = new RuntimeExtensions(this, { ...means, agentOf: this.#agentOf });
    this.#prices = prices;
    this.#prompt = createPromptDeps(options);
    const health = (): StoreHealth =>
      this.#projector?.health ?? { lagMs: 0, failedWrites: 0, reducedTrees: 0 };
    this.#deltas = new Deltas({ clock: this.#clock, health, others: Deltas.othersIn(store, seals) });
    this.approvals = new Approvals(options.engine, store ?? null, () => this.#clock.now());
    this.#webhooks = createWebhooks({ ...this.#options, clock: this.#clock });
    const audited = store ? { store, keys: keys ?? auditKeys(store), now: () => this.#clock.now() } : null;
    const written = { ...options, keys, clock: this.#clock, webhooks: this.#webhooks.queue };
    this.#projector = audited && createProjector(audited, written);
    this.#sweep = Sweep.of(options, this.#clock);
    this.runs = new Runs(options.engine, store ?? null);
    this.sessions = new Conversations(() => this.#conversationHost());
    this.memory = new Memories(this, this.#clock);
    this.tenants = new Tenants(options.engine);
    const switches = new SwitchCache(this.#clock);
    const hasAgent = (type: string): boolean => extended.byType.has(type);
    this.switches = new Switches({ engine: options.engine, cache: switches, hasAgent });
    this.audit = new Audit(audited);
    const { engine, input: inputLimits } = options;
    const scheduling = this.#createScheduling();
    this.schedules = scheduling.schedules;
    const nameContent = createNameContent(seals);
    this.#prepareInput = createPrepareInput({ engine, limits: inputLimits, nameContent });
    const execution = {
      inputLimits,
      nameContent,
      agentOf: this.#agentOf,
      hasAgent,
      extensions: this.#extensions,
      clock: this.#clock,
      ...executionPolicy(options),
      deltas: this.#deltas.hub,
      prices: this.#prices,
      store: store ?? null,
      prompt: this.#prompt,
      switches,
    };
    const trees = treeHostOf(extended.byType, { ...options, projects: this.#projector !== null });
    options.engine.define({
      build: buildOf(extended.byType),
      objects: createObjects(trees),
      sinks: [...(this.#projector ? [this.#projector] : []), scheduling.sink],
      sealing: seals,
      run: (primitives) => execute(primitives, execution),
    });
  }

  /** Makes this process a worker of its engine. */
  async serve({ port, deltas = {} }: ServeOptions): Promise<void> {
    await this.#load();
    if (deltas) await this.#deltas.serve(deltas);
    try {
      await this.#options.engine.serve({ port });
      this.#sweep.start();
      this.#webhooks.sender?.start();
    } catch (error) {
      await this.#deltas.close();
      throw error;
    }
  }

  /**
   * Stops taking work in this process. Waiting runs move to other workers immediately; running steps may end first.
   * Resolves when nothing runs here, at the latest after `graceMs` (default 25 seconds). Then the process can exit.
   */
  async drain(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkDuration("graceMs", options.graceMs ?? 0);
    await this.#options.engine.drain(options);
  }

  /**
   * Starts a tree. Returns once it is accepted. @throws IdConflictError if the id names another one; SessionBusyError;
   * DisabledError; RuntimeClosedError.
   */
  start<Output, Task extends Input = Input>(
    agent: Agent<Output, Task>,
    input: NoInfer<Task>,
    options: StartOptions = {},
  ): Promise<RunHandle<Output>> {
    return this.#start(agent, input, options);
  }

  async #start<Output>(
    agent: Agent<Output>,
    input: Input,
    options: StartOptions,
    compaction?: CompactionOrder,
  ): Promise<RunHandle<Output>> {
    this.#closed.signal.throwIfAborted();
    const type = AgentId.type(agent.id);
    this.#agentOf(type);
    checkStart(this.#agents, agent);
    await this.switches.check(agent, options.tenant);
    if (this.#agents.mustLoad) await this.#load();
    const known = this.#agentOf(type);
    if (options.after !== undefined) await checkAfter(() => this.store, options);
    const treeId = TreeId.of(options.id ?? randomUUID());
    const tree = treeAddress(treeId, options.tenant);
    const task = known.input && !compaction ? await checkTask(known, input) : input;
    const prepared = this.#prepareInput(tree.key, task);
    const given = prepared instanceof Promise ? await prepared : prepared;
    const host = { ...this.#options, clock: this.#clock, prices: this.#prices };
    const version = agentVersion(known);
    const argument = createOpening({ agent, version, input: given, treeId, compaction }, host, options);
    const opened = await openTree(this.#options, { tree, open: argument }, options);
    return this.#handle(tree, RunId.root(treeId), opened.execution);
  }

  /** Returns the handle of a tree's root, or of any run. */
  run(id: string, options: { readonly tenant?: string } = {}): RunHandle {
    const runId = id.includes("~") ? RunId.parse(id) : RunId.root(TreeId.of(id));
    return this.#handle(treeAddress(RunId.tree(runId), options.tenant), runId);
  }

  /** URLs that receive events of a tenant's runs. */
  get webhooks(): Webhooks {
    return this.#webhooks.webhooks;
  }

  /** Every agent of the program: the given ones and their teams, with the extensions of the runtime. */
  get agents(): readonly Agent[] {
    return [...this.#agents.byType.values()];
  }

  /** The latest 100 failures of extensions in this process, oldest first. */
  get extensionErrors(): readonly ExtensionErrorRecord[] {
    return this.#extensions.errors;
  }

  /** Returns the tree that has the turn in a named conversation. Null: none. */
  async turn(session: string, owner: Owner = {}): Promise<TreeId | null> {
    const address = sessionAddress(session, owner);
    const holder = await this.#options.engine.call(address, "turn", withProtocol(null));
    return holder === null ? null : treeAt(Json.as<ObjectAddress>(holder)).tree;
  }

  /**
   * Changes an idle conversation with your own code. A turn that is started meanwhile waits, for at most a minute. @throws
   * SessionBusyError if the conversation is in a turn.
   */
  whileIdle<Result>(session: string, owner: Owner, change: () => Promise<Result>): Promise<Result> {
    const host = { engine: this.#options.engine, clock: this.#clock, uuid: randomUUID };
    return whileIdle(host, { session, owner }, change);
  }

  /**
   * Lists the model and tool steps of a run, oldest first, without content. Steps that were not recorded are on the
   * last page. @throws TypeError without a store.
   */
  steps(
    run: string,
    options: { readonly tenant?: string } & Partial<PageRequest> = {},
  ): Promise<Page<StepSummary>> {
    return listSteps(this.store, RunId.parse(run), { size: 50, ...options });
  }

  /**
   * Rebuilds the prompt of a step from the conversation and the stored texts, and compares it with the hash of the sent
   * prompt. @throws NotFoundError if there is no such step; TypeError without a store.
   */
  prompt(step: string, options: { readonly tenant?: string } = {}): Promise<StepPrompt> {
    return readStep(this.store, StepId.parse(step), options);
  }

  /**
   * The store, with its content unsealed. Its `eraseUser` erases the user's trees in the engine as well. @throws TypeError
   * without a store.
   */
  get store(): Store {
    return this.#getErasure().store;
  }

  /**
   * Looks now for runs that the engine has stopped for good, and applies `onBlocked`. Workers do it periodically.
   * Returns the number of runs that were held or failed. @throws AggregateError if a tree failed or did not answer within
   * 10 s. All others were asked, and the next call asks it again.
   */
  sweep(): Promise<number> {
    return this.#sweep.runOnce();
  }

  /**
   * Reloads extensions and guardrails from files. They apply to runs that are launched from now on. Drops the cached
   * texts of prompt sections in this process, by default of all agents, else of one agent and its team: the next turn
   * reads them again. Other processes keep theirs. @throws ProgramError if something cannot be loaded: then nothing has
   * changed.
   */
  async reload(agent?: Agent<unknown>): Promise<void> {
    await this.#agents.reload((agents) => addPrices(this.#prices, agents));
    const team = agent && programAgents([this.#agentOf(AgentId.type(agent.id))]);
    const extended = team?.map(({ id }) => this.#agentOf(AgentId.type(id)));
    this.#prompt.cache.drop(extended?.flatMap(({ policy }) => policy?.sections ?? []));
  }

  /** Loads extensions from files, once. */
  #load(): Promise<void> {
    return this.#agents.load((agents) => addPrices(this.#prices, agents));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new RuntimeClosedError());
    this.#sweep.close();
    await this.#deltas.close();
    await this.#webhooks.sender?.close();
    await this.#options.engine[Symbol.asyncDispose]();
  }

  /** Whether runs execute on workers that serve, possibly in other processes. If not, they execute in this process. */
  get hasWorkers(): boolean {
    return this.#options.engine.durable;
  }

  /** The state of the writes of this process to the store. Null without a store. */
  get storeHealth(): StoreHealth | null {
    return this.#projector?.health ?? null;
  }

  /** Age of the oldest event or order that this process has not yet written to the store. Null without a store. */
  get lagMs(): number | null {
    return this.storeHealth?.lagMs ?? null;
  }

  #createScheduling(): ReturnType<typeof createScheduling> {
    return createScheduling({
      ...this.#options,
      clock: this.#clock,
      agentOf: this.#agentOf,
      start: (agent, input, options) => this.#start(agent, input, options),
    });
  }

  #conversationHost(): ConversationDeps {
    return conversationHost({
      runtime: this,
      engine: this.#options.engine,
      clock: this.#clock,
      closed: this.#closed.signal,
      deltas: this.#deltas,
      extensions: this.#extensions,
      agentOf: this.#agentOf,
      start: (...given) => this.#start(...given),
      erase: (...given) => this.#getErasure().eraseConversation(...given),
    });
  }

  /** @throws TypeError without a store. */
  #getErasure(): Erasure {
    const { engine, store } = this.#options;
    if (!store || !this.#projector) throw new TypeError("there is no store: createRuntime({ store })");
    const host = { engine, clock: this.#clock, closed: this.#closed.signal, runtime: this };
    return (this.#erasure ??= new Erasure(store, this.#projector, host));
  }

  /** Creates a handle. `execution`: that of a root that was just opened. Null: unknown. */
  #handle<Output>(tree: ObjectAddress, runId: RunId, execution: string | null = null): RunHandle<Output> {
    const { engine, store = null } = this.#options;
    const clock = this.#clock;
    const now = (): number => clock.now();
    const closed = this.#closed.signal;
    const waiting = { clock, now, closed, uuid: () => randomUUID() };
    const host = { engine, store, deltas: this.#deltas, prepareInput: this.#prepareInput, ...waiting };
    return new RunHandle(host, tree, { treeId: RunId.tree(runId), runId, execution });
  }

  readonly #agentOf = (type: string, version?: string): Agent => {
    const agent = this.#agents.get(type, version);
    if (!agent) throw new NotFoundError({ what: "agent", id: type });
    return agent;
  };
}
