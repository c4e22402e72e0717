import {
  type Json,
  NotFoundError,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type RunLaunch,
} from "#kernel";
import { copy } from "./copy.ts";

/** What objects can do to runs and to time. */
export interface ObjectWorld {
  /** Names an execution. It begins when it is told to. */
  launch(run: RunLaunch): { readonly execution: string; readonly begin: () => void };
  wake(execution: string, name: string): void;
  cancel(execution: string): void;
  /** Calls back after so many milliseconds. */
  later(delayMs: number, callback: () => void): void;
  /** Lets others go first, as the way over a wire would. */
  readonly hop: () => Promise<void>;
}

/** Somebody who wants to know of a change: of one name, or of any. */
interface Watcher {
  readonly name: string | undefined;
  readonly resolve: () => void;
}

interface StoredObject {
  readonly state: Map<string, Json>;
  /** Resolves when every call so far has ended. */
  tail: Promise<unknown>;
  readonly watchers: Set<Watcher>;
}

/** Single-writer state in one process. Calls on one key run one after the other; what a call wrote before it threw is undone. */
export class LocalObjects {
  readonly #definitions = new Map<string, ObjectDefinition>();
  readonly #objects = new Map<string, StoredObject>();
  readonly #world: ObjectWorld;

  constructor(world: ObjectWorld) {
    this.#world = world;
  }

  define(definitions: readonly ObjectDefinition[]): void {
    for (const definition of definitions) this.#definitions.set(definition.type, definition);
  }

  /** Nothing is answered at once, as over a wire: code that relies on it shows here. */
  async call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    const definition = this.#definitions.get(to.type);
    const stored = this.#of(to);
    const query = definition?.queries[method];
    const run = query ?? definition?.methods[method];
    if (!run) throw new NotFoundError({ what: "method", id: `${to.type}.${method}` });
    const given = copy(argument);
    await this.#world.hop();
    const execute = async (): Promise<Json> => {
      const work = new LocalWork(to, stored.state, this, this.#world);
      const reply = await run(work, given);
      if (!query) tell(stored.watchers, work.commit());
      return copy(reply);
    };
    if (query) return execute();
    const result = stored.tail.then(execute);
    stored.tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves at the next change, of that name where one is given. */
  changed(to: ObjectAddress, signal: AbortSignal, name?: string): Promise<void> {
    const { watchers } = this.#of(to);
    return new Promise((resolve, reject) => {
      const watcher = { name, resolve };
      watchers.add(watcher);
      const stop = (): void => {
        watchers.delete(watcher);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  #of({ type, key }: ObjectAddress): StoredObject {
    const id = `${type}/${key}`;
    const known = this.#objects.get(id);
    if (known) return known;
    const fresh = {
      state: new Map<string, Json>(),
      tail: Promise.resolve(),
      watchers: new Set<Watcher>(),
    };
    this.#objects.set(id, fresh);
    return fresh;
  }
}

/** One call: its writes and its messages count when it has returned. */
class LocalWork implements ObjectContext {
  readonly key: string;
  readonly #state: Map<string, Json>;
  readonly #objects: LocalObjects;
  readonly #world: ObjectWorld;
  readonly #written = new Map<string, Json>();
  readonly #afterwards: (() => void)[] = [];

  constructor({ key }: ObjectAddress, state: Map<string, Json>, objects: LocalObjects, world: ObjectWorld) {
    this.key = key;
    this.#state = state;
    this.#objects = objects;
    this.#world = world;
  }

  get(name: string): Promise<Json> {
    const written = this.#written.get(name);
    return Promise.resolve(written === undefined ? (this.#state.get(name) ?? null) : written);
  }

  set(name: string, value: Json): void {
    this.#written.set(name, value);
  }

  clear(name: string): void {
    this.#written.set(name, null);
  }

  send(
    to: ObjectAddress,
    method: string,
    argument: Json,
    { delayMs = 0 }: { readonly delayMs?: number } = {},
  ): void {
    const call = (): void => void this.#objects.call(to, method, argument).catch(() => undefined);
    this.#afterwards.push(delayMs > 0 ? () => this.#world.later(delayMs, call) : call);
  }

  call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    return this.#objects.call(to, method, argument);
  }

  async launch(run: RunLaunch): Promise<string> {
    const { execution, begin } = this.#world.launch(run);
    this.#afterwards.push(begin);
    return execution;
  }

  wake(execution: string, name: string): void {
    this.#afterwards.push(() => this.#world.wake(execution, name));
  }

  cancel(execution: string): void {
    this.#afterwards.push(() => this.#world.cancel(execution));
  }

  /** Returns what was written. */
  commit(): ReadonlyMap<string, Json> {
    for (const [name, value] of this.#written) {
      if (value === null) this.#state.delete(name);
      else this.#state.set(name, value);
    }
    for (const act of this.#afterwards) act();
    return this.#written;
  }
}

function tell(watchers: Set<Watcher>, written: ReadonlyMap<string, Json>): void {
  for (const watcher of watchers) {
    if (watcher.name !== undefined && !written.has(watcher.name)) continue;
    watchers.delete(watcher);
    watcher.resolve();
  }
}
