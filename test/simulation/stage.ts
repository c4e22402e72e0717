import {
  isJsonObject,
  Json,
  type Engine,
  type EngineProgram,
  type ObjectAddress,
  type StepId,
  type Store,
} from "#kernel";
import { Runtime, type RuntimeOptions } from "#runtime";
import { local } from "reeve/engines/local";
import { TreeSecret } from "../../src/tree/tree-secret.ts";
import { crashPoints } from "./crash-points.ts";
import { Crash, CrashingEngine } from "./crashing-engine.ts";
import { type Choose, World } from "./world.ts";
import { withProtocol } from "../../src/tree/protocol-number.ts";

/** Every tree of a stage has this secret, so that a seed is replayed exactly. */
const secret = "c2VjcmV0LW9mLWEtc3RhZ2";

/** The idempotency key of a step on a stage. */
export const keyOfStep = (step: string): string => TreeSecret.idempotencyKey(secret, Json.as<StepId>(step));

/** Gives a tree that is being opened the secret of the stage. */
export function withSecret(argument: Json): Json {
  if (!isJsonObject(argument)) return argument;
  if ("secret" in argument) return { ...argument, secret };
  return "open" in argument ? { ...argument, open: withSecret(argument["open"] ?? null) } : argument;
}

/**
 * A failure at a crash point: none, of the work there, of the whole process, or a stall while another execution takes
 * over.
 */
export type Death = "none" | "one" | "all" | "stall";

/** Options of a stage. */
export interface StageOptions {
  /** Chooses the next of several possible events. Default: the oldest. */
  readonly choose?: Choose;
  /** Asked at each place. */
  readonly deathAt: (point: string) => Death;
  /** Put between the engine and the program. */
  readonly layer?: (program: EngineProgram) => EngineProgram;
}

/** Queries change nothing, so a crash around them does not matter. */
const queries = new Set(["status", "result", "events", "receipt", "unprojected", "ledger"]);

/** The runtime on the local engine, in a world in which everything happens in a chosen order, and anything can die. */
export class Stage implements AsyncDisposable {
  readonly world: World;
  readonly crashingEngine: CrashingEngine;
  readonly #engine: Engine;
  readonly #options: StageOptions;
  #ids = 0;

  constructor(options: StageOptions) {
    this.#options = options;
    this.world = new World(options.choose);
    this.crashingEngine = new CrashingEngine({ uuid: () => `attempt-${++this.#ids}` });
    this.#engine = local({ clock: this.world.clock, schedule: this.world.schedule });
  }

  /** A place where something may die. @throws Crash */
  reach(point: string): void {
    const death = this.#options.deathAt(point);
    if (death === "stall") return this.crashingEngine.stall();
    if (death === "all") this.crashingEngine.dieAll();
    if (death !== "none") this.crashingEngine.die();
  }

  /** An external effect happens at some time: its caller may crash before and after it. */
  async happens(what: string, act: () => void): Promise<void> {
    this.reach(`${what}: before`);
    await this.crashingEngine.survive(this.world.turn());
    act();
    this.reach(`${what}: after`);
    await this.crashingEngine.survive(this.world.turn());
  }

  runtime(options: Omit<RuntimeOptions, "engine" | "clock"> & { readonly store: Store }): Runtime {
    const { layer = (program) => program } = this.#options;
    const at = (point: string): void => this.reach(point);
    const engine: Engine = {
      ...this.#engine,
      define: (program) => this.#engine.define(layer(this.crashingEngine.program(crashPoints(program, at)))),
      call: (to, method, argument) => this.#call(to, method, argument),
    };
    return new Runtime({ ...options, engine, clock: this.world.clock });
  }

  async #call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    if (queries.has(method)) return this.#engine.call(to, method, argument);
    this.reach(`outside ${method}: before`);
    const reply = await this.#engine.call(to, method, withSecret(argument));
    this.reach(`outside ${method}: after`);
    return reply;
  }

  /** Repeats an external call until it is accepted, across crashes. */
  async surely<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
      }
    }
  }

  /** Asks an object, past every place where anything could die. */
  ask(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    return this.#engine.call(to, method, withProtocol(argument));
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#engine[Symbol.asyncDispose]();
  }
}
