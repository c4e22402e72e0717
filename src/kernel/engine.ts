import type { ErrorData } from "./errors.ts";
import type { RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Sealing } from "./seal.ts";

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
  readonly bestEffort?: boolean;
}

/**
 * What a method of an object can do. Everything happens, or nothing, exactly once for each call. An engine that has to
 * fetch what is asked for throws out of the method and calls it anew once it is there: so a method changes nothing but
 * through this, and catches nothing that this throws.
 */
export interface ObjectContext {
  readonly key: string;
  /** The engine's time. The same in every try of one call, so a method may write and send it. */
  now(): number;
  /** The most that one value of the state may have. A method that sets more changes nothing: its caller gets a TooLargeError. An engine that keeps references need not check. */
  readonly maxValueBytes: number;
  /** Whether values stay in this process as they are given. Then a short form of them would save nothing. */
  readonly keepsReferences: boolean;
  /** Null where there is none. Loads that name alone. */
  get(name: string): Json;
  /** Announces names that the method reads next: an engine that is remote fetches them in one round trip. */
  prefetch(names: readonly string[]): void;
  /** The names of the state that begin with a prefix, sorted. Loads names, no values. */
  list(prefix: string): readonly string[];
  set(name: string, value: Json): void;
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
  /** Ends an execution for good, wherever it is. Best effort: nothing may depend on it. */
  kill(execution: string): void;
}

/**
 * One method: plain code, done at once. Runs no user code, no model, no tool. A thrown error is the caller's, except a
 * RetryableError: a durable engine calls the method again until it succeeds, for example on another worker.
 */
export type ObjectMethod = (object: ObjectContext, argument: Json) => Json;

/** A call of a method that travels with others. */
export interface BatchedCall {
  readonly method: string;
  readonly argument: Json;
}

/** The answer to one call of a batch. */
export type BatchedReply = { readonly value: Json } | { readonly error: ErrorData };

/** A kind of object. */
export interface ObjectDefinition {
  readonly type: string;
  /** One call at a time for each key. */
  readonly methods: Readonly<Record<string, ObjectMethod>>;
  /** Only read: may run beside each other and beside a method. */
  readonly queries: Readonly<Record<string, ObjectMethod>>;
  /** Default: nothing. */
  readonly lasting?: LastingParts;
  /**
   * The name of the value that an object has once nothing more will be done with it but to read it: an engine without
   * storage may forget the oldest of such objects. Default: there is none.
   */
  readonly finishedMark?: string;
  /**
   * The name of the method that makes several calls of methods in their order, each all or nothing. It takes
   * `{ calls }`, of {@link BatchedCall}, and returns a {@link BatchedReply} for each. An engine may make calls that meet
   * as one. Default: there is none.
   */
  readonly batchMethod?: string;
  /**
   * Methods that count once, however often they are called with the same argument. An engine may make such calls of a run past
   * its journal, where they can meet others. Default: none.
   */
  readonly repeatable?: readonly string[];
}

/**
 * The parts of an object that hold no content. They can be read also once the key of the object is destroyed: an engine
 * that seals uses `Seal.lasting` for them.
 */
export interface LastingParts {
  /** State by the first part of its name, up to the first `/`. */
  readonly state: readonly string[];
  /**
   * The name of the value that an object has once its content is erased. A call that has read or written it writes and
   * sends nothing but lasting values.
   */
  readonly erasedMark: string;
}

/** Asks an object. */
export type CallObject = (to: ObjectAddress, method: string, argument: Json) => Promise<Json>;

/**
 * Takes what objects send to it, one after the other for each key, in the order it was sent. It may touch the world; what
 * throws is tried again until it succeeds, so it must not matter how often it is tried. Only what it asks of objects is
 * kept: the next try is answered as the one before, and must ask the same in the same order.
 */
export interface SinkDefinition {
  /** Objects send to it by this type, and the method `take`. */
  readonly type: string;
  take(key: string, argument: Json, ask: CallObject): Promise<void>;
}

/** What an execution of a run is started with. */
export interface RunLaunch {
  /** The number of the protocol that the run speaks, in all its executions. */
  readonly protocol: number;
  readonly tree: ObjectAddress;
  readonly runId: RunId;
  /** 0 for the first execution, then one more for each continuation. */
  readonly continuation: number;
  /**
   * Whether the run's calls of its tree between two races may be made as one, by `batchMethod`: the same for every execution,
   * since journals differ by it. Default: no.
   */
  readonly batchesCalls?: boolean;
  /** What the tree tells it. */
  readonly entrance: Json;
}

/** What an operation came to. */
export type Outcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: ErrorData };

/** The operations that one race is about. A set of them is one. An engine looks only for those that have ended. */
export interface OpenOperations extends Iterable<Operation> {
  has(operation: Operation): boolean;
}

/** Something a run has asked of its engine and that will end once. */
export interface Operation {
  /** Null until `race` has returned this operation. */
  readonly outcome: Outcome | null;
  /** True: no execution before this one has been given the outcome. False where the engine cannot tell. */
  readonly isFirst: boolean;
  /**
   * Says that the outcome is not needed. Aborts the signal of a step that runs in this process, and releases a timer where
   * the engine can. The operation stays in the journal, and may end all the same.
   */
  cancel(reason: Error): void;
}

/** One execution of a run by one worker, for the gate: only the newest may begin calls. */
export interface Epoch {
  /** Unique. */
  readonly id: string;
  /** Rises with each execution of the run, in every process; null where the engine has no such number. */
  readonly order: number | null;
}

/** What a step's closure can reach. */
export interface StepIo {
  readonly signal: AbortSignal;
  /** The execution that waits for this closure now: a later one in the same process may have taken it over. */
  readonly epoch: Epoch;
  /** Fresh for every execution of the closure. */
  readonly attempt: string;
  /** A call that is not journaled: the gate. */
  readonly call: CallObject;
}

/**
 * What an engine gives to the driver of one execution, and never to users. The same code over the same journal
 * issues the same operations in the same order and is told the same outcomes in the same order.
 */
export interface ExecutionPrimitives {
  readonly launch: RunLaunch;
  /** Not journaled. */
  readonly epoch: Epoch;
  /** Can the engine stop an execution for people to look at? Else a diverging run fails. */
  readonly canPause: boolean;
  /** Is what happens now new, rather than a replay? For those who only watch: nothing may depend on it. */
  readonly isLive: boolean;
  /** Wall clock, for use inside steps only. Not journaled. */
  now(): number;
  /** A call that is not journaled, for an execution that is about to be given up. */
  callUnjournaled(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  /**
   * Runs the closure at least once and keeps its result exactly once. A closure that rejects with a SupersededError has
   * no result: the engine runs it again, under a new epoch.
   */
  step(name: string, run: (io: StepIo) => Promise<Json>): Operation;
  /** Calls an object, once. */
  call(to: ObjectAddress, method: string, argument: Json): Operation;
  /** Ends when the wake-up of that name is resolved, which may be before it is asked for. */
  wake(name: string): Operation;
  sleepUntil(at: number): Operation;
  /** Ends when this execution is cancelled. */
  cancelled(): Operation;
  /** Which of these finished first: durable. */
  race(open: OpenOperations): Promise<Operation>;
  /** Lets every microtask that can run, run. */
  flushMicrotasks(): Promise<void>;
}

/** What an engine executes. */
export interface EngineProgram {
  /** The same for programs that can take over each other's runs. */
  readonly build: string;
  readonly objects: readonly ObjectDefinition[];
  readonly sinks: readonly SinkDefinition[];
  /** Seals everything that leaves the process. Null: nothing is sealed; a durable engine refuses that. */
  readonly sealing: Sealing | null;
  /**
   * One execution of a run. Throwing asks the engine to execute it again from its journal. An engine that has `attach`
   * keeps what it returns, sealed, as long as it keeps the journal. Nothing and null are the same.
   */
  readonly run: (primitives: ExecutionPrimitives) => Promise<Json | void>;
}

/** What keeps an execution from going on. Told without content: people see it who may not see what the run says. */
export interface Obstacle {
  /**
   * `version`: its build has another version of the agent. `release`: another release wrote its tree. `diverged`: the code asks for something else than the journal
   * holds. `too-large`: so is something it made. `unserved`: no worker of its build answers. `failing`: its code fails
   * again and again. `stopped`, `killed`: an operator has stopped or ended it at the engine.
   */
  readonly kind:
    | "version"
    | "release"
    | "diverged"
    | "too-large"
    | "unserved"
    | "failing"
    | "stopped"
    | "killed";
  /** What the last try came to. */
  readonly words: string;
  /** The build that it is with; null: none yet. */
  readonly build: string | null;
  /** When it is tried again; null: not by itself. */
  readonly retryAt: number | null;
}

/** An execution that cannot go on and is not tried again by itself. */
export interface BlockedExecution {
  readonly tree: ObjectAddress;
  readonly execution: string;
  readonly blocker: Obstacle;
}

/** The change that a caller waits for. */
export interface ChangeOptions {
  readonly signal: AbortSignal;
  /** The one name of the state that matters: an engine may leave out changes of others. Default: any. */
  readonly name?: string | undefined;
}

/** The options of a wait for an execution. */
export interface AttachOptions {
  readonly signal: AbortSignal;
  /** The tree of the execution. */
  readonly tree: ObjectAddress;
}

/** Where runs really execute. */
export interface Engine {
  readonly name: string;
  /** Whether runs and objects outlive the process. Then what it is given leaves the process, and is sealed. */
  readonly durable: boolean;
  /** Gives it the program, before anything else. */
  define(program: EngineProgram): void;
  /** Makes this process a worker. Engines that only live in their process need no call. */
  serve(options: { readonly port: number }): Promise<void>;
  /** Takes no more work here, lets the steps that run end, and returns. Nothing to do for an engine of one process. */
  drain(options?: { readonly graceMs?: number }): Promise<void>;
  /**
   * Calls an object from outside, and answers in bounded time. @throws the method's own error, decoded; a NoAnswerError
   * if no worker has answered: the call is kept for the next one.
   */
  call(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  /**
   * Resolves when the object may have changed since the call. The caller then looks again: an engine that cannot notify
   * resolves from time to time. @throws the signal's reason.
   */
  waitForChange(object: ObjectAddress, options: ChangeOptions): Promise<void>;
  /**
   * Waits until an execution has ended, and returns what it returned. Null if the engine cannot tell: it does not know the
   * execution, or it was stopped from outside. Costs no call of an object. Absent: callers wait for a change of the object.
   * @throws the signal's reason.
   */
  attach?(execution: string, options: AttachOptions): Promise<Json>;
  /** What keeps an execution from going on; null: nothing does. Absent where nothing can. */
  obstacle?(execution: string): Promise<Obstacle | null>;
  /** Finds why the calls of an object are not answered. Null: they are. Absent where nothing can keep them. */
  objectObstacle?(object: ObjectAddress): Promise<Obstacle | null>;
  /** Finds executions that cannot go on and are not tried again. Absent where there can be none. */
  findBlocked?(): Promise<readonly BlockedExecution[]>;
  [Symbol.asyncDispose](): Promise<void>;
}
