import {
  type ChangeOptions,
  encodeError,
  type Json,
  NotFoundError,
  type CallObject,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type RunLaunch,
  type SendOptions,
} from "#kernel";
import { copyJson, LruMap } from "#base";
import type { Schedule } from "./schedule.ts";
import type { LocalSinks } from "./local-sinks.ts";

/** The effects of objects on runs and time. */
export interface ObjectWorld {
  /** Creates an execution. It begins when `begin` is called. */
  launch(run: RunLaunch): { readonly execution: string; readonly begin: () => void };
  wake(execution: string, name: string, value: Json): void;
  cancel(execution: string): void;
  kill(execution: string): void;
  /** Calls back after a delay. */
  later(delayMs: number, callback: () => void, bestEffort: boolean): void;
  now(): number;
  /** Defers a callback, as a network would. */
  readonly schedule: Schedule;
}

/** A call of an object. */
export interface ObjectCall {
  readonly to: ObjectAddress;
  readonly method: string;
  readonly argument: Json;
}

/** A subscriber to changes: of one name, or of any. */
interface Watcher {
  readonly name: string | undefined;
  readonly resolve: () => void;
}

interface StoredObject {
  readonly address: ObjectAddress;
  readonly state: Map<string, Json>;
  readonly watchers: Set<Watcher>;
}

/** Single-writer state in one process. A call runs without interruption. If it throws, its writes are undone. */
export class LocalObjects {
  readonly #definitions = new Map<string, ObjectDefinition>();
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  /** Objects that are finished. */
  readonly #finished = new LruMap<StoredObject, true>({
    max: maxFinished,
    onEvict: (oldest) => {
      oldest.state.clear();
      this.free(oldest);
    },
  });
  readonly #world: ObjectWorld;
  readonly #sinks: LocalSinks;

  constructor(world: ObjectWorld, sinks: LocalSinks) {
    this.#world = world;
    this.#sinks = sinks;
  }

  define(definitions: readonly ObjectDefinition[]): void {
    for (const definition of definitions) this.#definitions.set(definition.type, definition);
  }

  /** Calls an object. The reply is never synchronous, as over a network, so that code that relies on it fails here. */
  call(
    call: ObjectCall,
    answer: (reply: Json) => void,
    fail: (error: unknown) => void,
    schedule = this.#world.schedule,
  ): void {
    this.callCopied({ ...call, argument: copyJson(call.argument) }, answer, fail, schedule);
  }

  /** Calls an object with an argument that is already copied. */
  callCopied(
    { to, method, argument }: ObjectCall,
    answer: (reply: Json) => void,
    fail: (error: unknown) => void,
    schedule: Schedule,
  ): void {
    schedule(() => {
      let reply: Json;
      try {
        reply = this.#execute(to, method, argument);
      } catch (error) {
        return fail(error);
      }
      answer(reply);
    });
  }

  readonly ask: CallObject = (to, method, argument) =>
    new Promise((resolve, reject) => this.call({ to, method, argument }, resolve, reject));

  /** Delivers a message of an object to another object, or to a sink. */
  deliver(call: ObjectCall): void {
    const { to, argument } = call;
    if (this.#sinks.has(to.type)) this.#sinks.take({ ...to, argument: copyJson(argument) }, this.ask);
    else this.call(call, ignoreResult, (error) => warn(call, error));
  }

  /** Calls an object from another one, inside that one's call, so that nothing comes between. */
  callFromObject(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#execute(to, method, copyJson(argument));
  }

  #execute(to: ObjectAddress, method: string, argument: Json): Json {
    const definition = this.#definitions.get(to.type);
    const query = definition?.queries[method];
    const run = query ?? definition?.methods[method];
    if (!run) throw new NotFoundError({ what: "method", id: `${to.type}.${method}` });
    const stored = this.#getOrCreate(to);
    const work = new LocalWork(stored, this, this.#world);
    try {
      const reply = run(work, argument);
      if (!query) {
        work.commit();
        this.#limitFinished(stored, definition?.finishedMark);
      }
      // The caller may change its copy without changing the object's state.
      return copyJson(reply);
    } finally {
      this.free(stored);
    }
  }

  /** Resolves at the next change, of that name if given. */
  waitForChange(to: ObjectAddress, { signal, name }: ChangeOptions): Promise<void> {
    const stored = this.#getOrCreate(to);
    const { watchers } = stored;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        watchers.delete(watcher);
        this.free(stored);
        reject(signal.reason as Error);
      };
      const watcher: Watcher = {
        name,
        resolve: () => {
          signal.removeEventListener("abort", stop);
          resolve();
        },
      };
      watchers.add(watcher);
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  /** Drops an object without state and without waiting callers. */
  free({ address, state, watchers }: StoredObject): void {
    if (state.size === 0 && watchers.size === 0) this.#objects.get(address.type)?.delete(address.key);
  }

  /** Limits the number of finished objects. */
  #limitFinished(stored: StoredObject, mark: string | undefined): void {
    if (mark === undefined || !stored.state.has(mark)) return;
    // A call to a finished object does not extend its retention.
    if (!this.#finished.has(stored)) this.#finished.set(stored, true);
  }

  /** Number of objects in memory. */
  get size(): number {
    return this.#objects.values().reduce((sum, { size }) => sum + size, 0);
  }

  #getOrCreate(address: ObjectAddress): StoredObject {
    let kind = this.#objects.get(address.type);
    if (!kind) this.#objects.set(address.type, (kind = new Map()));
    let stored = kind.get(address.key);
    if (!stored) kind.set(address.key, (stored = { address, state: new Map(), watchers: new Set() }));
    return stored;
  }
}

/** One call: its writes and messages take effect when it has returned. */
class LocalWork implements ObjectContext {
  readonly key: string;
  readonly maxValueBytes = maxValueBytes;
  readonly keepsReferences = true;
  readonly #stored: StoredObject;
  readonly #objects: LocalObjects;
  readonly #world: ObjectWorld;
  #now: number | null = null;
  /** Created at the first write. */
  #written: Map<string, Json> | null = null;
  readonly #afterwards: (() => void)[] = [];

  constructor(stored: StoredObject, objects: LocalObjects, world: ObjectWorld) {
    this.key = stored.address.key;
    this.#stored = stored;
    this.#objects = objects;
    this.#world = world;
  }

  now(): number {
    return (this.#now ??= this.#world.now());
  }

  /** An object lives no longer than its process. */
  hostedSince(): number {
    return 0;
  }

  get(name: string): Json {
    const written = this.#written?.get(name);
    return written === undefined ? (this.#stored.state.get(name) ?? null) : written;
  }

  prefetch(): void {
    // All state is in memory.
  }

  list(prefix: string): readonly string[] {
    const names = new Set(this.#stored.state.keys());
    this.#written?.forEach((value, name) => (value === null ? names.delete(name) : names.add(name)));
    return [...names].filter((name) => name.startsWith(prefix)).toSorted();
  }

  set(name: string, value: Json): void {
    this.#written ??= new Map();
    this.#written.set(name, value);
  }

  clear(name: string): void {
    this.set(name, null);
  }

  send(
    to: ObjectAddress,
    method: string,
    argument: Json,
    { delayMs = 0, bestEffort = false }: SendOptions = {},
  ): void {
    const call = (): void => this.#objects.deliver({ to, method, argument });
    this.#afterwards.push(delayMs > 0 ? () => this.#world.later(delayMs, call, bestEffort) : call);
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#objects.callFromObject(to, method, argument);
  }

  launch(run: RunLaunch): string {
    const { execution, begin } = this.#world.launch(run);
    this.#afterwards.push(begin);
    return execution;
  }

  wake(execution: string, name: string, value: Json = null): void {
    const copied = copyJson(value);
    this.#afterwards.push(() => this.#world.wake(execution, name, copied));
  }

  cancel(execution: string): void {
    this.#afterwards.push(() => this.#world.cancel(execution));
  }

  kill(execution: string): void {
    this.#afterwards.push(() => this.#world.kill(execution));
  }

  commit(): void {
    const { state, watchers } = this.#stored;
    const written = this.#written;
    for (const [name, value] of written ?? []) {
      if (value === null) state.delete(name);
      else state.set(name, value);
    }
    for (const act of this.#afterwards) act();
    for (const watcher of watchers) {
      if (watcher.name !== undefined && !written?.has(watcher.name)) continue;
      watchers.delete(watcher);
      watcher.resolve();
    }
  }
}

/** Maximum number of finished objects. */
const maxFinished = 1_000;

/**
 * The limit of engines that store values. It applies here, too, so that values that are too large there are refused
 * here.
 */
const maxValueBytes = 16_000_000;

/** Reports the error of a message, which has no caller. */
function warn({ to, method }: ObjectCall, error: unknown): void {
  const { code, message = "" } = encodeError(error);
  process.emitWarning(`the message ${to.type}.${method} failed: ${message}`, { code, type: "ReeveMessage" });
}

const ignoreResult = (): void => undefined;
