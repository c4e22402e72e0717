import { isJsonObject, type Agent, type EngineProgram, type Json, type NumberedEvent } from "#kernel";
import type { RunHandle, Runtime } from "#runtime";
import { Books } from "./books.ts";
import { Chance } from "./chance.ts";
import { Checker } from "./checker.ts";
import { People } from "./people.ts";
import { planCarrier } from "./plan-carrier.ts";
import { slowStore } from "./slow-store.ts";
import { type Death, Stage } from "./stage.ts";
import { type Transition, watchProgram } from "./watched.ts";
import { type Workload, workloadOf } from "./workload.ts";
import { StandstillError } from "./world.ts";

/** A bug, planted between the engine and the runtime. */
export type Mutation = (program: EngineProgram, chance: Chance) => EngineProgram;

/** Options of a simulation. */
export interface SimulationOptions {
  /** Default: none. */
  readonly mutation?: Mutation;
  /** Called with a line for each event, in order. Default: none. */
  readonly tell?: (line: string) => void;
}

/** The result of a seed. */
export interface Report {
  readonly seed: number;
  /** The violation. Null if there is none. */
  readonly violation: string | null;
  readonly happened: number;
  readonly deaths: number;
  readonly runs: number;
  readonly calls: number;
  /** Calls that have waited for money. */
  readonly waits: number;
}

/** Long after every timeout. */
const patience = { age: 48 * 3_600_000 };
const madeUp = /\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b/g;
const mostDeaths = 40;
const tenant = "acme";
const user = "ann";
const stalls: readonly Death[] = ["stall", "stall", "stall", "one"];
const crashes: readonly Death[] = ["stall", "one", "one", "one", "one", "one", "one", "one"];

/** Simulates one life of the runtime that depends on the seed alone: its load, its order, its faults. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Report> {
  const simulation = new Simulation(seed, options);
  try {
    return await simulation.run();
  } finally {
    await simulation.stage[Symbol.asyncDispose]();
  }
}

class Simulation {
  readonly stage: Stage;
  readonly #seed: number;
  readonly #options: SimulationOptions;
  readonly #chance: Chance;
  readonly #workloads: readonly Workload[];
  /** The limit of all trees together; null: none. */
  readonly #tenantTokens: number | null;
  readonly #books: Books;
  readonly #checker: Checker;
  readonly #violation = Promise.withResolvers<never>();
  readonly #rates: { readonly death: number; readonly store: number };
  #people: People | null = null;
  #deaths = 0;
  #waits = 0;

  constructor(seed: number, options: SimulationOptions) {
    this.#seed = seed;
    this.#options = options;
    const load = new Chance(4 * seed);
    const order = new Chance(4 * seed + 1);
    this.#chance = new Chance(4 * seed + 2);
    this.#rates = {
      death: this.#chance.pickOne(0, 0.005, 0.02, 0.05),
      store: this.#chance.pickOne(0, 0, 0.1, 0.4),
    };
    this.#tenantTokens = load.is(0.3) ? load.pickBetween(100, 3_000) : null;
    const trees = this.#tenantTokens === null ? load.pickOne(1, 1, 2) : load.pickOne(2, 3, 4);
    this.#workloads = load.list(trees, () => workloadOf(load));
    this.stage = new Stage({
      choose: (count) => order.pickBelow(count),
      deathAt: (point) => this.#deathAt(point),
      layer: (program) =>
        watchProgram(options.mutation?.(program, this.#chance) ?? program, (transition) =>
          this.#transition(transition),
        ),
    });
    this.#books = new Books(this.stage, { chance: this.#chance, faults: this.#chance.pickOne(0, 0.1, 0.3) });
    this.#checker = new Checker(this.#books, {
      now: () => this.stage.world.age,
      tenantTokens: this.#tenantTokens,
      violate: (text) => this.#violate(text),
      onEvent: (event) => this.#receive(event),
    });
    this.stage.crashingEngine.onJournaled = (step, value) => this.#checker.noteJournaled(step, value);
    this.#violation.promise.catch(() => undefined);
  }

  async run(): Promise<Report> {
    const { world } = this.stage;
    let violation: string | null = null;
    try {
      await world.run(Promise.race([this.#story(), this.#violation.promise]), patience);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const isExpected = error instanceof Violation || error instanceof StandstillError;
      violation = isExpected ? error.message : (error.stack ?? error.message);
    }
    const runs = [...this.#checker.trees.values()].reduce((sum, { ended }) => sum + ended.size, 0);
    const calls = this.#books.bill.length;
    const { happened } = world;
    return { seed: this.#seed, violation, happened, deaths: this.#deaths, runs, calls, waits: this.#waits };
  }

  async #story(): Promise<void> {
    const agent = planCarrier(this.stage, this.#books, (...received) => this.#checkFlood(...received));
    const tenantTokens = this.#tenantTokens;
    const store = slowStore({
      world: this.stage.world,
      chance: this.#chance,
      faults: this.#rates.store,
    });
    const runtime = this.stage.runtime({
      agents: [agent],
      store,
      yieldTimeoutS: 5,
    });
    this.#people = new People(this.stage, this.#checker, this.#books, {
      chance: this.#chance,
      runtime,
      owner: this.#owner,
      tell: (line) => this.#tell(() => line),
      violate: (text) => this.#violate(text),
    });
    if (tenantTokens !== null) await this.#limit(runtime, tenantTokens);
    const handles = await Promise.all(
      this.#workloads.map((workload, index) => this.#start(runtime, agent, workload, index)),
    );
    void this.#people.interfere();
    void this.#people.heal(handles);
    await Promise.all(handles.map((handle) => handle.result()));
    for (const handle of handles) await this.#conclude(handle);
  }

  /** A budget of the tenant, and a smaller one of the user for whom every second tree works. */
  async #limit(runtime: Runtime, maxTokens: number): Promise<void> {
    const { tenants } = runtime;
    await this.stage.surely(() => tenants.setBudget({ tenant }, { maxTokens, per: "ever" }));
    const least = { maxTokens: Math.ceil(maxTokens / 2), per: "ever" } as const;
    await this.stage.surely(() => tenants.setBudget({ tenant, user }, least));
  }

  get #owner(): { readonly tenant?: string } {
    return this.#tenantTokens === null ? {} : { tenant };
  }

  #start(runtime: Runtime, agent: Agent, workload: Workload, index: number): Promise<RunHandle> {
    const id = `tree-${index}`;
    this.#tell(() => `start ${id}: ${JSON.stringify(workload)}`);
    const whose = { ...this.#owner, ...(index % 2 === 1 && { user }) };
    return this.stage.surely(() =>
      runtime.start(agent, JSON.stringify(workload.plan), { ...workload.start, ...whose, id }),
    );
  }

  /** Checks what must hold after a tree has ended. */
  async #conclude(handle: RunHandle): Promise<void> {
    const view = this.#checker.trees.get(handle.treeId);
    if (!view) return this.#violate(`${handle.treeId} was never seen`);
    const kept: NumberedEvent[] = [];
    for await (const event of handle.events()) kept.push(event);
    const told = view.events.map(({ seq, eventId }) => `${seq} ${eventId}`);
    const stored = kept.map(({ seq, eventId }) => `${seq} ${eventId}`);
    if (told.join("\n") !== stored.join("\n"))
      this.#violate(`the store has ${stored.length} events, the tree has told ${told.length}`);
    const starts = kept.filter(({ type }) => type === "run.start").map(({ runId }) => runId);
    const ends = kept.filter(({ type }) => type === "run.end").map(({ runId }) => runId);
    if (new Set(ends).size !== ends.length) this.#violate("a run has ended twice");
    for (const run of starts) if (!ends.includes(run)) this.#violate(`${run} has started and not ended`);
    for (const run of ends) if (!view.ended.has(run)) this.#violate(`${run} has left nothing`);
    if (Object.keys(view.slots).length > 0)
      this.#violate(`slots left: ${Object.keys(view.slots).join(", ")}`);
    this.#checkDeliveries();
  }

  /** Checks that every signal arrives once, however many arrive together. */
  #checkFlood(name: string, signals: readonly Json[], count: number): void {
    const sorted = signals.toSorted((a, b) => Number(a) - Number(b));
    if (sorted.some((signal, index) => signal !== index))
      this.#violate(`of ${count} signals ${name} came ${JSON.stringify(sorted)}`);
  }

  /** A tool that is not idempotent is never run again without a decision. One order has one key. */
  #checkDeliveries(): void {
    for (const [order, keys] of this.#books.keys)
      if (keys.size > 1) this.#violate(`order ${order} was delivered under ${keys.size} keys`);
    for (const [key, { tool, count }] of this.#books.deliveries) {
      const most = tool === "report" ? 1 : tool === "ask" ? 1 + (this.#people?.reruns(key) ?? 0) : Infinity;
      if (count > most) this.#violate(`${key} was delivered ${count} times to ${tool}`);
    }
  }

  #deathAt(point: string): Death {
    if (this.#deaths >= mostDeaths || !this.#chance.is(this.#rates.death)) return "none";
    this.#deaths += 1;
    // A crashed execution is repeated after at most a second.
    this.#checker.allowanceMs += 1_100;
    // Inside a step a stall is of note: the closure goes on beside the execution that takes over.
    const isInStep = point.startsWith("step ") || point.startsWith("gate ");
    const death = this.#chance.pickOne<Death>("all", "stall", ...(isInStep ? stalls : crashes));
    this.#tell(() => `${death} dies at ${point}`);
    return death;
  }

  #transition(transition: Transition): void {
    const { type, key, method, argument, reply } = transition;
    this.#tell(() => `${type} ${key}.${method} ${JSON.stringify(argument)} -> ${JSON.stringify(reply)}`);
    this.#checker.transition(transition);
  }

  /** A simulated user receives it, and answers. */
  #receive(event: NumberedEvent): void {
    this.#tell(() => `event ${event.seq} ${event.type} ${event.runId}`);
    if (event.type === "budget.waiting") this.#waits += 1;
    if (event.type === "approval.requested") void this.#people?.decide(event.runId, event.approvalId);
    if (event.type !== "progress.emitted" || !isJsonObject(event.data)) return;
    const { waitsFor, count } = event.data;
    if (typeof waitsFor !== "string") return;
    if (typeof count === "number") void this.#people?.flood(event.runId, waitsFor, count);
    else void this.#people?.answer(event.runId, waitsFor);
  }

  /** Ids generated by the runtime are left out: nothing depends on them, and they differ in each history. */
  #tell(line: () => string): void {
    const { tell } = this.#options;
    if (tell) tell(`${String(this.stage.world.age).padStart(8)} ms  ${line().replaceAll(madeUp, "...")}`);
  }

  #violate(text: string): void {
    this.#tell(() => `VIOLATION: ${text}`);
    this.#violation.reject(new Violation(text));
  }
}

/** Something that must not be. */
class Violation extends Error {}
