import type { ErrorData } from "./errors.ts";
import type { RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Sealing } from "./seal.ts";

/** The address of an object: single-writer state with methods. */
export interface ObjectAddress {
  readonly type: string;
  readonly key: string;
}

/** Delivery options of a message between objects. */
export interface SendOptions {
  /** Default: 0. */
  readonly delayMs?: number;
  /** Whether the message may be dropped when the engine stops. It does not keep the process alive. Default: false. */
  readonly bestEffort?: boolean;
}

/**
 * The operations of an object's method. Each call takes effect exactly once, all or nothing. A remote engine may throw
 * out of the method to fetch state, then call it again. So a method changes state only through this context, and
 * catches nothing that it throws.
 */
export interface ObjectContext {
  readonly key: string;
  /** Returns the engine's time. It is the same in every try of one call, so a method may write and send it. */
  now(): number;
  /**
   * Returns the moment since which the worker of this call has been able to make calls. It is the same in every try of
   * one call. 0 if calls are never without a worker.
   */
  hostedSince(): number;
  /**
   * Maximum bytes of one value of the state. A method that sets more changes nothing, and its caller gets a
   * TooLargeError. An engine that keeps references need not check.
   */
  readonly maxValueBytes: number;
  /** Whether values stay in this process without being encoded. If so, a compact form saves nothing. */
  readonly keepsReferences: boolean;
  /** Returns a value of the state. Null if absent. Loads only this name. */
  get(name: string): Json;
  /** Announces the names that the method reads next, so that a remote engine fetches them in one round trip. */
  prefetch(names: readonly string[]): void;
  /** Returns the names of the state that begin with a prefix, sorted. Loads no values. */
  list(prefix: string): readonly string[];
  set(name: string, value: Json): void;
  clear(name: string): void;
  /** Sends a call to another object. Does not wait for it. */
  send(to: ObjectAddress, method: string, argument: Json, options?: SendOptions): void;
  /** Calls a lower object (tree, then tenant) and waits for it. An object must not call its own key. */
  call(to: ObjectAddress, method: string, argument: Json): Json;
  /** Starts an execution of a run. Returns the engine's id for it. */
  launch(run: RunLaunch): string;
  /** Resolves the named wake-up of an execution with a value, by default null. Without a waiter it is kept until one comes. */
  wake(execution: string, name: string, value?: Json): void;
  /** Fires the cancellation of an execution. */
  cancel(execution: string): void;
  /** Ends an execution permanently, on whichever worker it runs. Best effort: nothing may depend on it. */
  kill(execution: string): void;
}

/**
 * A method of an object: synchronous code that runs no user code, model or tool. The caller gets the thrown error.
 * Exception: on a RetryableError a durable engine calls the method again until it succeeds, possibly on another worker.
 */
export type ObjectMethod = (object: ObjectContext, argument: Json) => Json;

/** One method call inside a batch. */
export interface BatchedCall {
  readonly method: string;
  readonly argument: Json;
}

/** The answer to one call of a batch. */
export type BatchedReply = { readonly value: Json } | { readonly error: ErrorData };

/** A type of object: its methods and queries. */
export interface ObjectDefinition {
  readonly type: string;
  /** Methods that change state. One call at a time for each key. */
  readonly methods: Readonly<Record<string, ObjectMethod>>;
  /** Methods that only read. They may run concurrently with each other and with a method. */
  readonly queries: Readonly<Record<string, ObjectMethod>>;
  /** Default: nothing. */
  readonly lasting?: LastingParts;
  /** Values that most calls read and write together. An engine may store them as one. Default: none. */
  readonly together?: StoredTogether;
  /**
   * Name of the value that marks a finished object: from then on it is only read. An engine without storage may drop
   * the oldest finished objects. Default: none.
   */
  readonly finishedMark?: string;
  /**
   * Name of the method that executes a batch of calls in order, each all or nothing. It takes `{ calls }`, a list of
   * {@link BatchedCall}, and returns a {@link BatchedReply} for each. An engine may batch concurrent calls. Default:
   * none.
   */
  readonly batchMethod?: string;
  /**
   * Idempotent methods: repeated calls with the same argument count once. An engine may make such calls without its
   * journal, so that it can batch them. Default: none.
   */
  readonly repeatable?: readonly string[];
}

/**
 * The parts of an object that hold no content. They stay readable after the object's key is destroyed, because a
 * sealing engine uses `Seal.lasting` for them.
 */
export interface LastingParts {
  /** Names of lasting state, compared up to the first `/`. */
  readonly state: readonly string[];
  /**
   * Name of the value that marks an object whose content is erased. A call that has read or written it writes and sends
   * only lasting values.
   */
  readonly erasedMark: string;
}

/** Values of an object's state that an engine may store as one. */
export interface StoredTogether {
  /** Name of the value that the others are stored with. While it is absent, they are absent. */
  readonly under: string;
  /** Whether a value is one of the others. */
  readonly has: (name: string) => boolean;
}

/** Calls a method of an object. */
export type CallObject = (to: ObjectAddress, method: string, argument: Json) => Promise<Json>;

/**
 * A consumer of messages that objects send. Each key gets its messages one at a time, in the order they were sent. It
 * may have side effects. A failed message is retried until it succeeds, so processing must be idempotent. Replies to
 * its calls of objects are recorded: a retry gets the same replies and must make the same calls in the same order. An engine
 * need not log a failure: the consumer does.
 */
export interface SinkDefinition {
  /** The address type that objects send to, with the method `take`. */
  readonly type: string;
  take(key: string, argument: Json, ask: CallObject): Promise<void>;
}

/** The input of one execution of a run. */
export interface RunLaunch {
  /** The protocol number of the run, in all its executions. */
  readonly protocol: number;
  readonly tree: ObjectAddress;
  readonly runId: RunId;
  /** 0 for the first execution, then one more for each continuation. */
  readonly continuation: number;
  /**
   * Whether the run's tree calls between two races may be batched with `batchMethod`. The same for every execution of
   * the run, because journals differ by it. Default: false.
   */
  readonly batchesCalls?: boolean;
  /** Data from the tree for the run's start. */
  readonly input: Json;
}

/** The result of an operation: its value or its error. */
export type Outcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: ErrorData };

/**
 * The operations that one race waits for. A `Set` of operations fits. An engine looks only for those that have ended.
 */
export interface OpenOperations extends Iterable<Operation> {
  has(operation: Operation): boolean;
}

/** One operation that a run has requested from its engine. It ends once. */
export interface Operation {
  /** Null until `race` has returned this operation. */
  readonly outcome: Outcome | null;
  /** Whether no earlier execution was given the outcome. False if the engine cannot know. */
  readonly isFirst: boolean;
  /**
   * Declares that the outcome is not needed. Aborts the signal of a step that runs in this process, and releases a
   * timer where the engine can. The operation stays in the journal and may still end.
   */
  cancel(reason: Error): void;
}

/** The identity of one execution of a run on one worker. Only the newest may begin calls at the gate. */
export interface Epoch {
  /** Unique. */
  readonly id: string;
  /** Rises with each execution of the run, across processes. Null if the engine has no such number. */
  readonly order: number | null;
}

/** The inputs of a step's closure. */
export interface StepIo {
  readonly signal: AbortSignal;
  /** The execution that waits for this closure now. A later one in the same process may have adopted it. */
  readonly epoch: Epoch;
  /** Unique for every execution of the closure. */
  readonly attempt: string;
  /** Calls an object without the journal. Used for the gate. */
  readonly call: CallObject;
}

/**
 * The operations that an engine offers to the driver of one execution. Users never see them. The same code over the
 * same journal issues the same operations and gets the same outcomes, both in the same order.
 */
export interface ExecutionPrimitives {
  readonly launch: RunLaunch;
  /** Not journaled. */
  readonly epoch: Epoch;
  /**
   * Whether `launch` has stayed in this process since a method passed it to {@link ObjectContext.launch}. If not, it is
   * checked before it is used.
   */
  readonly keepsReferences: boolean;
  /** Whether the engine can stop an execution for inspection. If not, a diverging run fails. */
  readonly canPause: boolean;
  /** Whether the current work is new, not a replay. For observers only: nothing may depend on it. */
  readonly isLive: boolean;
  /** Wall clock, for use inside steps only. Not journaled. */
  now(): number;
  /** Makes a call without the journal, for an execution that is about to be abandoned. */
  callUnjournaled(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  /**
   * Runs the closure at least once and records its result exactly once. A closure that rejects with a SupersededError
   * has no result: the engine runs it again, under a new epoch.
   */
  step(name: string, run: (io: StepIo) => Promise<Json>): Operation;
  /** Calls an object exactly once. */
  call(to: ObjectAddress, method: string, argument: Json): Operation;
  /** Ends with the value of the wake-up of that name. It may have been resolved before this call. */
  wake(name: string): Operation;
  sleepUntil(at: number): Operation;
  /** Ends when this execution is cancelled. */
  waitForCancel(): Operation;
  /** Returns the operation that finished first. The choice is durable. */
  race(open: OpenOperations): Promise<Operation>;
  /** Runs all pending microtasks. */
  flushMicrotasks(): Promise<void>;
}

/** The program that an engine executes. */
export interface EngineProgram {
  /** Version of the program. Programs with the same build can continue each other's runs. */
  readonly build: string;
  readonly objects: readonly ObjectDefinition[];
  readonly sinks: readonly SinkDefinition[];
  /** Seals everything that leaves the process. Null: nothing is sealed; a durable engine refuses that. */
  readonly sealing: Sealing | null;
  /**
   * Executes a run. If it throws, the engine executes it again from its journal. An engine with `attach` keeps the
   * returned value, sealed, as long as it keeps the journal. Undefined counts as null.
   */
  readonly run: (primitives: ExecutionPrimitives) => Promise<Json | void>;
}

/**
 * The reason why an execution cannot continue. It holds no content, because its readers may not be allowed to read the
 * run's content.
 */
export interface Blocker {
  /**
   * `version`: the build has another version of the agent. `release`: another release wrote the tree. `diverged`: the
   * code requests something else than the journal holds. `too-large`: a value exceeds a limit. `unserved`: no worker of
   * its build answers. `failing`: its code fails repeatedly. `stopped`, `killed`: an operator stopped or ended it at
   * the engine.
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
  /** The error of the last try. */
  readonly lastError: string;
  /** The build that the execution belongs to. Null: none yet. */
  readonly build: string | null;
  /** Time of the next try. Null: not retried automatically. */
  readonly retryAt: number | null;
}

/** An execution that cannot continue and is not retried automatically. */
export interface BlockedExecution {
  readonly tree: ObjectAddress;
  readonly execution: string;
  readonly blocker: Blocker;
}

/** Options of a wait for a change. */
export interface ChangeOptions {
  readonly signal: AbortSignal;
  /**
   * The only name of the state that matters to the caller. An engine may leave out changes of other names. Default:
   * any.
   */
  readonly name?: string | undefined;
}

/** The options of a wait for an execution. */
export interface AttachOptions {
  readonly signal: AbortSignal;
  /** The tree of the execution. */
  readonly tree: ObjectAddress;
}

/** The port of an engine: it executes runs and objects. */
export interface Engine {
  readonly name: string;
  /** Whether runs and objects outlive the process. If so, their data leaves the process and is sealed. */
  readonly durable: boolean;
  /** Sets the program. Called before any other member. */
  define(program: EngineProgram): void;
  /** Makes this process a worker. Not needed for engines that live in one process. */
  serve(options: { readonly port: number }): Promise<void>;
  /** Stops taking work in this process, waits for running steps, and returns. An engine of one process does nothing. */
  drain(options?: { readonly graceMs?: number }): Promise<void>;
  /**
   * Calls an object from outside, with a bounded wait. @throws the method's own error, decoded; a NoAnswerError if no
   * worker has answered: the call is kept until a worker is back.
   */
  call(to: ObjectAddress, method: string, argument: Json): Promise<Json>;
  /**
   * Resolves when the object may have changed since the call. The caller then reads it again. An engine that cannot
   * notify resolves periodically. @throws the signal's reason.
   */
  waitForChange(object: ObjectAddress, options: ChangeOptions): Promise<void>;
  /**
   * Waits until an execution has ended, and returns its value. Null if the engine does not know the execution, or it
   * was stopped from outside. Makes no call of an object. Absent: callers wait for a change of the object. @throws the
   * signal's reason.
   */
  attach?(execution: string, options: AttachOptions): Promise<Json>;
  /** Returns the reason why an execution cannot continue. Null: it can. Absent if nothing can block executions. */
  blocker?(execution: string): Promise<Blocker | null>;
  /**
   * Returns the reason why calls of an object are not answered. Null: they are. Absent if nothing can block objects.
   */
  objectBlocker?(object: ObjectAddress): Promise<Blocker | null>;
  /** Returns the executions that cannot continue and are not retried automatically. Absent if there can be none. */
  findBlocked?(): Promise<readonly BlockedExecution[]>;
  [Symbol.asyncDispose](): Promise<void>;
}
