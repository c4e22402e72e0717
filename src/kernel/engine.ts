import type { ErrorData } from "./errors.ts";
import type { RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Keys } from "./keys.ts";
import type { KeyStore } from "./store.ts";

/** The address of an object: single-writer state with methods. */
export interface ObjectAddress {
  readonly type: string;
  readonly key: string;
}

/** When a message of one object reaches another. */
export interface SendOptions {
  /** Default 0. */
  readonly delayMs?: number;
  /** Nothing is lost if the engine ends first: a process need not live on for it. Default false. */
  readonly mayLapse?: boolean;
  /**
   * Neither it nor what comes of it holds words: it can be read also when those of its object are gone, as what was kept
   * can. Default false.
   */
  readonly keep?: boolean;
}

/**
 * What a method of an object can do. Everything happens, or nothing, exactly once for each call. An engine that has to
 * fetch what is asked for throws out of the method and calls it anew once it is there: so a method changes nothing but
 * through this, and catches nothing that this throws.
 */
export interface ObjectContext {
  readonly key: string;
  /** Null where there is none. Loads that name alone. */
  get(name: string): Json;
  /** These will be asked for: an engine that is far fetches them in one round trip. */
  expect(names: readonly string[]): void;
  set(name: string, value: Json): void;
  /** The same, for what must be readable also once the key of this object is destroyed. */
  keep(name: string, value: Json): void;
  clear(name: string): void;
  /** Calls another object later; waits for nothing. */
  send(to: ObjectAddress, method: string, argument: Json, options?: SendOptions): void;
  /** Calls an object further down (tree, then tenant) and waits for it. Never its own key. */
  call(to: ObjectAddress, method: string, argument: Json): Json;
  /** Starts an execution of a run. Returns the engine's name for it. */
  launch(run: RunLaunch): string;
  /** Resolves the named wake-up of an execution. One that nobody waits for yet is kept. */
  wake(execution: string, name: string): void;
  /** Fires the cancellation of an execution. */
  cancel(execution: string): void;
}

/** One method: plain code, done at once. Runs no user code, no model, no tool; a thrown error is the caller's. */
export type ObjectMethod = (object: ObjectContext, argument: Json) => Json;

/** A kind of object. */
export interface ObjectDefinition {
  readonly type: string;
  /** One call at a time for each key. */
  readonly methods: Readonly<Record<string, ObjectMethod>>;
  /** Only read: may run beside each other and beside a method. */
  readonly queries: Readonly<Record<string, ObjectMethod>>;
}

/** Asks an object. */
export type ObjectAsk = (to: ObjectAddress, method: string, argument: Json) => Promise<Json>;

/**
 * Takes what objects send to it, one after the other for each key, in the order it was sent. It may touch the world; what
 * throws is tried again until it succeeds, so it must not matter how often it is tried. Only what it asks of objects is
 * kept: the next try is answered as the one before, and must ask the same in the same order.
 */
export interface SinkDefinition {
  /** Objects send to it by this type, and the method `take`. */
  readonly type: string;
  take(key: string, argument: Json, ask: ObjectAsk): Promise<void>;
}

/** What an execution of a run is started with. */
export interface RunLaunch {
  readonly tree: ObjectAddress;
  readonly runId: RunId;
  /** 0 for the first execution, then one more for each continuation. */
  readonly continuation: number;
  /** What the tree tells it. */
  readonly entrance: Json;
}

/** What an operation came to. */
export type Outcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: ErrorData };

/** Something a run has asked of its engine and that will end once. */
export interface Operation {
  /** Null until `pick` has returned this operation. */
  readonly outcome: Outcome | null;
  /** Aborts the signal of a step that runs in this process; elsewhere and otherwise nothing. */
  abort(reason: Error): void;
}

/** What a step's closure can reach. */
export interface StepIo {
  readonly signal: AbortSignal;
  /** Fresh for every execution of the closure. */
  readonly attempt: string;
  /** A call that is not journaled: the gate. */
  readonly call: ObjectAsk;
}

/**
 * What an engine gives to the driver of one execution, and never to users. The same code over the same journal
 * issues the same operations in the same order and is told the same outcomes in the same order.
 */
export interface Primitives {
  readonly launch: RunLaunch;
  /** Orders executions of one run: a later one has a higher epoch. Not journaled. */
  readonly epoch: string;
  /** Can the engine stop an execution for people to look at? Else a diverging run fails. */
  readonly canPause: boolean;
  /** Is what happens now new, rather than a replay? For those who only watch: nothing may depend on it. */
  readonly isLive: boolean;
  /** Wall clock, for use inside steps only. Not journaled. */
  now(): number;
  /** A call that is not journaled, for an execution that is about to be given up. */
  direct(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  /** Runs the closure at least once and keeps its result exactly once. */
  step(name: string, run: (io: StepIo) => Promise<Json>): Operation;
  /** Calls an object, once. */
  call(to: ObjectAddress, method: string, argument: Json): Operation;
  /** Ends when the wake-up of that name is resolved, which may be before it is asked for. */
  wake(name: string): Operation;
  sleepUntil(at: number): Operation;
  /** Ends when this execution is cancelled. */
  cancelled(): Operation;
  /** Which of these finished first: durable. */
  pick(open: readonly Operation[]): Promise<Operation>;
  /** Lets every microtask that can run, run. */
  drain(): Promise<void>;
}

/** What an engine executes. */
export interface EngineProgram {
  /** The same for programs that can take over each other's runs. */
  readonly build: string;
  readonly objects: readonly ObjectDefinition[];
  readonly sinks: readonly SinkDefinition[];
  /** One execution of a run. Throwing asks the engine to execute it again from its journal. */
  readonly run: (primitives: Primitives) => Promise<void>;
}

/** What keeps an execution from going on. Told without content: people see it who may not see what the run says. */
export interface Obstacle {
  /**
   * `version`: its build has another version of the agent. `diverged`: the code asks for something else than the journal
   * holds. `too-large`: so is something it made. `unserved`: no worker of its build answers. `failing`: its code fails
   * again and again. `stopped`: somebody has stopped it at the engine.
   */
  readonly kind: "version" | "diverged" | "too-large" | "unserved" | "failing" | "stopped";
  /** What the last try came to. */
  readonly words: string;
  /** The build that it is with; null: none yet. */
  readonly build: string | null;
  /** When it is tried again; null: not by itself. */
  readonly retryAt: number | null;
}

/** Where runs really execute. */
export interface Engine {
  readonly name: string;
  /**
   * Tells it where keys can be kept that are to be destroyed one by one, before anything else. Returns what it then seals
   * with; null where nothing leaves the process.
   */
  keysIn(store: KeyStore | null): Keys | null;
  /** Gives it the program, before anything but its keys. */
  define(program: EngineProgram): void;
  /** Makes this process a worker. Engines that only live in their process need no call. */
  serve(options: { readonly port: number }): Promise<void>;
  /** Takes no more work here, lets the steps that run end, and returns. Nothing to do for an engine of one process. */
  drain(options?: { readonly graceMs?: number }): Promise<void>;
  /** Calls an object from outside. @throws the method's own error, decoded. */
  call(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  /**
   * Resolves when the object may have changed since the call; rejects with the signal's reason. Who waits for one
   * `name` of its state says so, and may be spared the changes of others.
   */
  changed(object: ObjectAddress, signal: AbortSignal, name?: string): Promise<void>;
  /** What keeps an execution from going on; null: nothing does. Absent where nothing can. */
  obstacle?(execution: string): Promise<Obstacle | null>;
  /**
   * Resolves when there may be something under a name of the object's state: an engine that knows waits until there is,
   * any other leaves it to whoever asks to find out.
   */
  written(object: ObjectAddress, name: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
