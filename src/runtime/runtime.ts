import { randomUUID } from "node:crypto";
import {
  AgentId,
  checkDuration,
  Json,
  NotFoundError,
  Partition,
  RunId,
  RuntimeClosedError,
  SessionId,
  StepId,
  TreeId,
  UserId,
  type Agent,
  type Clock,
  type Input,
  type Keys,
  type ObjectAddress,
  type Page,
  type PageRequest,
  type Store,
} from "#kernel";
import { allowAll, defaultPermissions, programAgents } from "#agents";
import { systemClock } from "#base";
import {
  treeAddress,
  treeAt,
  withProtocol,
  type CompactionOrder,
  type InvokeArgument,
  sessionAddress,
  type OpenArgument,
  callTree,
} from "#tree";
import { buildOf, treeHostOf } from "./agent-terms.ts";
import { Approvals } from "./approvals.ts";
import { Deltas } from "#deltas";
import { Audit, auditKeys, AuditWriter } from "#audit";
import type { ConversationHost } from "./conversation.ts";
import { agentOfHead, Conversations } from "./conversations.ts";
import { checkDurations } from "./check-options.ts";
import { Memories } from "./memories.ts";
import { quietly } from "./quietly.ts";
import { checkProgram, checkStart } from "./check-program.ts";
import { createOpening } from "./create-opening.ts";
import { createSealing, sealStore } from "./create-sealing.ts";
import { type PriceList, createPromptDeps, execute, type PromptDeps, SwitchCache } from "#run";
import { createNameContent, createPrepareInput } from "./prepare-input.ts";
import type { PrepareInput } from "./prepare-input.ts";
import { createObjects } from "./program-objects.ts";
import { Projector } from "./projector.ts";
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

/** Starts trees and finds them again. */
export class Runtime {
  readonly #options: RuntimeOptions;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #clock: Clock;
  readonly #deltas: Deltas;
  readonly #prices: PriceList;
  readonly #projector: Projector | null;
  readonly #sweep: Sweep;
  readonly #closed = new AbortController();
  readonly #prompt: PromptDeps;
  readonly #prepareInput: PrepareInput;
  /** Runs that are and were, as the store has them. */
  readonly runs: Runs;
  /** Conversations of users with agents. */
  readonly sessions: Conversations;
  /** What agents remember of users. */
  readonly memory: Memories;
  /** Questions to people. */
  readonly approvals: Approvals;
  /** Budgets of tenants and their users. */
  readonly tenants: Tenants;
  /** Disables tenants, agents and tools. */
  readonly switches: Switches;
  /** Trees that start by the clock. */
  readonly schedules: Schedules;
  /** What was decided, by whom, in a chain that shows whether anybody changed it. */
  readonly audit: Audit;

  /** @throws ProgramError for mistakes in the program, all of them in one; RangeError on a duration that is none. */
  constructor(options: RuntimeOptions) {
    const { agents, byType, prices } = checkProgram(options.agents, options.guardrails ?? []);
    checkDurations({ ...options, agents });
    if (options.telemetry && !options.store)
      throw new TypeError("telemetry needs a store: createRuntime({ store })");
    const sealing = createSealing(options);
    const { keys = null, seals = null } = sealing ?? {};
    const store = sealStore(options, sealing);
    this.#options = { ...options, agents, ...(store && { store }) };
    this.#clock = options.clock ?? systemClock;
    this.#agents = byType;
    this.#prices = prices;
    this.#prompt = createPromptDeps(options);
    this.#deltas = new Deltas({ clock: this.#clock, others: Deltas.othersIn(store, seals) });
    this.approvals = new Approvals(options.engine, store ?? null, () => this.#clock.now());
    const audited = store ? { store, keys: keys ?? auditKeys(store) } : null;
    this.#projector = audited && this.#projectorInto(audited.store, keys, audited.keys);
    this.#sweep = Sweep.of(options, this.#clock);
    this.runs = new Runs(options.engine, store ?? null);
    this.sessions = new Conversations(() => this.#conversationHost());
    this.memory = new Memories(() => ({ store: this.store, now: () => this.#clock.now(), uuid: randomUUID }));
    this.tenants = new Tenants(options.engine);
    const switches = new SwitchCache(this.#clock);
    const hasAgent = (type: string): boolean => this.#agents.has(type);
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
      agentOf: (type: string) => this.#agentOf(type),
      hasAgent,
      clock: this.#clock,
      log: quietly(options.log),
      permissions:
        options.permissions === "allow-all" ? allowAll : (options.permissions ?? defaultPermissions),
      approver: typeof options.approver === "function" ? options.approver : null,
      guardrails: options.guardrails ?? [],
      deltas: this.#deltas.hub,
      prices: this.#prices,
      store: store ?? null,
      record: options.record ?? "steps",
      prompt: this.#prompt,
      switches,
    };
    const trees = treeHostOf(this.#agents, { ...options, projects: this.#projector !== null });
    options.engine.define({
      build: buildOf(this.#agents),
      objects: createObjects(trees),
      sinks: [...(this.#projector ? [this.#projector] : []), scheduling.sink],
      sealing: seals,
      run: (primitives) => execute(primitives, execution),
    });
  }

  /** Makes this process a worker of its engine. */
  async serve({ port, deltas = {} }: ServeOptions): Promise<void> {
    if (deltas) await this.#deltas.serve(deltas);
    try {
      await this.#options.engine.serve({ port });
      this.#sweep.start();
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
    checkDuration("graceMs", options.graceMs ?? 0);
    await this.#options.engine.drain(options);
  }

  /** Starts a tree. Returns once it is accepted. @throws IdConflictError if the id names another one; SessionBusyError; DisabledError. */
  start<Output>(agent: Agent<Output>, input: Input, options: StartOptions = {}): Promise<RunHandle<Output>> {
    return this.#start(agent, input, options);
  }

  async #start<Output>(
    agent: Agent<Output>,
    input: Input,
    options: StartOptions,
    compaction?: CompactionOrder,
  ): Promise<RunHandle<Output>> {
    checkStart(this.#agentOf(AgentId.type(agent.id)), agent);
    await this.switches.check(agent, options.tenant);
    if (options.after !== undefined) await this.#checkAfter(options);
    const treeId = TreeId.of(options.id ?? randomUUID());
    const tree = treeAddress(treeId, options.tenant);
    const prepared = this.#prepareInput(tree.key, input);
    const given = prepared instanceof Promise ? await prepared : prepared;
    const argument = createOpening(
      { agent, input: given, treeId, compaction },
      { ...this.#options, clock: this.#clock, prices: this.#prices },
      options,
    );
    await this.#open(tree, argument, options);
    return this.#handle(tree, RunId.root(treeId));
  }

  /** @throws NotFoundError if the conversation has no such entry. */
  async #checkAfter({ after = null, session, tenant, user }: StartOptions): Promise<void> {
    if (session === undefined)
      throw new TypeError("`after` names an entry of a conversation: give `session`, too");
    if (after === null) return;
    const key = { id: SessionId.of(session), userId: user === undefined ? null : UserId.of(user) };
    const range = { from: after, limit: 1 };
    const [entry] = await this.store.sessions.path(Partition.of(tenant), key, range);
    if (entry?.branch !== null) throw new NotFoundError({ what: "entry of the conversation", id: after });
  }

  /** In a conversation that has a name, trees take turns. */
  async #open(
    tree: ObjectAddress,
    open: OpenArgument,
    { session, onBusy = "refuse", tenant, user }: StartOptions,
  ): Promise<void> {
    const { engine } = this.#options;
    if (session === undefined) {
      await callTree((method, given) => engine.call(tree, method, given), "open", open);
      return;
    }
    const turn: InvokeArgument = { tree, open, onBusy };
    await engine.call(sessionAddress(session, { tenant, user }), "invoke", withProtocol(turn));
  }

  /** The handle of a tree's root, or of any run. */
  run(id: string, options: { readonly tenant?: string } = {}): RunHandle {
    const runId = id.includes("~") ? RunId.parse(id) : RunId.root(TreeId.of(id));
    return this.#handle(treeAddress(RunId.tree(runId), options.tenant), runId);
  }

  /** Every agent of the program: those listed, and everyone on their teams. */
  get agents(): readonly Agent[] {
    return this.#options.agents;
  }

  /** The tree that has the turn in a conversation that has a name; null if nobody has. */
  async turn(
    session: string,
    owner: { readonly tenant?: string; readonly user?: string } = {},
  ): Promise<TreeId | null> {
    const address = sessionAddress(session, owner);
    const holder = await this.#options.engine.call(address, "turn", withProtocol(null));
    return holder === null ? null : treeAt(Json.as<ObjectAddress>(holder)).tree;
  }

  /**
   * Lists the model and tool steps of a run, oldest first, without content. Those that were not recorded are on the last
   * page. @throws TypeError without a store.
   */
  steps(
    run: string,
    options: { readonly tenant?: string } & Partial<PageRequest> = {},
  ): Promise<Page<StepSummary>> {
    return listSteps(this.store, RunId.parse(run), { size: 50, ...options });
  }

  /**
   * Builds the prompt of a step again, from the conversation and the stored texts, and compares it with the hash of the
   * prompt that was sent. @throws NotFoundError if there is no such step; TypeError without a store.
   */
  prompt(step: string, options: { readonly tenant?: string } = {}): Promise<StepPrompt> {
    return readStep(this.store, StepId.parse(step), options);
  }

  /** The store with its content open. @throws TypeError without one. */
  get store(): Store {
    const { store } = this.#options;
    if (!store) throw new TypeError("there is no store: createRuntime({ store })");
    return store;
  }

  /**
   * Looks now for runs that the engine has stopped for good, and applies `onBlocked`. Workers do so by themselves.
   * Returns how many runs were held or failed.
   */
  sweep(): Promise<number> {
    return this.#sweep.once();
  }

  /**
   * Drops the texts of prompt sections that this process keeps, by default of all agents, else of one agent and its team:
   * the next turn reads them again. Other processes keep theirs.
   */
  async reload(agent?: Agent<unknown>): Promise<void> {
    const team = agent && programAgents([this.#agentOf(AgentId.type(agent.id))]);
    this.#prompt.cache.drop(team?.flatMap(({ policy }) => policy?.sections ?? []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new RuntimeClosedError());
    this.#sweep.close();
    await this.#deltas.close();
    await this.#options.engine[Symbol.asyncDispose]();
  }

  /** How far the store is behind, by what this process wrote last; null without a store. */
  get lagMs(): number | null {
    return this.#projector?.lagMs ?? null;
  }

  #createScheduling(): ReturnType<typeof createScheduling> {
    return createScheduling({
      ...this.#options,
      clock: this.#clock,
      agentOf: (type) => this.#agentOf(type),
      start: (agent, input, options) => this.#start(agent, input, options),
    });
  }

  #projectorInto(store: Store, keys: Keys | null, chained: Keys): Projector {
    const now = (): number => this.#clock.now();
    const audit = new AuditWriter({ audit: store.audit, keys: chained, now });
    const { telemetry } = this.#options;
    return new Projector({ store, audit, keys, now, telemetry });
  }

  #conversationHost(): ConversationHost {
    return {
      store: this.store,
      clock: this.#clock,
      uuid: () => randomUUID(),
      start: (agent, input, options) => this.#start(agent, input, options),
      compact: (agent, order, options) =>
        this.#start(
          agent,
          order.instructions ?? "Compact this conversation.",
          { ...options, retention: "permanent" },
          order,
        ),
      isCompacting: (tree, owner) => this.#isCompacting(tree, owner),
      turn: (session, owner) => this.turn(session, owner),
      deltas: (tree, { tenant }, over) => this.#deltas.watch(treeAddress(tree, tenant).key, over),
      reload: (agent) => this.reload(agent),
      agentOf: (head) => agentOfHead(head, (type) => this.#agentOf(type)),
    };
  }

  async #isCompacting(id: TreeId, { tenant }: { readonly tenant?: string }): Promise<boolean> {
    const { engine } = this.#options;
    const tree = treeAddress(id, tenant);
    return callTree((method, given) => engine.call(tree, method, given), "compacting", null);
  }

  #handle<Output>(tree: ObjectAddress, runId: RunId): RunHandle<Output> {
    const { engine, store = null } = this.#options;
    const clock = this.#clock;
    const now = (): number => clock.now();
    const closed = this.#closed.signal;
    const waiting = { clock, now, closed, uuid: () => randomUUID() };
    const host = { engine, store, deltas: this.#deltas, prepareInput: this.#prepareInput, ...waiting };
    return new RunHandle(host, tree, { treeId: RunId.tree(runId), runId });
  }

  #agentOf(type: string): Agent {
    const agent = this.#agents.get(type);
    if (!agent) throw new NotFoundError({ what: "agent", id: type });
    return agent;
  }
}
