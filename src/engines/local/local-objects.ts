import {
  type Json,
  NotFoundError,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type RunLaunch,
} from "#kernel";

/** What objects can do to runs and to time. */
export interface ObjectWorld {
  launch(run: RunLaunch): string;
  wake(execution: string, name: string): void;
  cancel(execution: string): void;
  /** Calls back after so many milliseconds. */
  later(delayMs: number, callback: () => void): void;
}

interface StoredObject {
  readonly state: Map<string, Json>;
  /** Resolves when every call so far has ended. */
  tail: Promise<unknown>;
  changed: PromiseWithResolvers<void>;
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

  /** Crosses a macrotask, like a call over a wire: code that relies on an immediate answer shows here. */
  async call(to: ObjectAddress, method: string, argument: Json): Promise<Json> {
    const definition = this.#definitions.get(to.type);
    const stored = this.#of(to);
    const query = definition?.queries[method];
    const run = query ?? definition?.methods[method];
    if (!run) throw new NotFoundError({ what: "method", id: `${to.type}.${method}` });
    await macrotask();
    const execute = async (): Promise<Json> => {
      const work = new LocalWork(to, stored.state, this, this.#world);
      const reply = await run(work, copy(argument));
      if (!query) {
        work.commit();
        stored.changed.resolve();
        stored.changed = Promise.withResolvers();
      }
      return copy(reply);
    };
    if (query) return execute();
    const result = stored.tail.then(execute);
    stored.tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves at the next change. */
  changed(to: ObjectAddress, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", stop, { once: true });
      const { promise } = this.#of(to).changed;
      void promise.then(resolve).finally(() => signal.removeEventListener("abort", stop));
    });
  }

  #of({ type, key }: ObjectAddress): StoredObject {
    const id = `${type}/${key}`;
    const known = this.#objects.get(id);
    if (known) return known;
    const fresh = {
      state: new Map<string, Json>(),
      tail: Promise.resolve(),
      changed: Promise.withResolvers<void>(),
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

  async get(name: string): Promise<Json> {
    return this.#written.has(name) ? (this.#written.get(name) ?? null) : (this.#state.get(name) ?? null);
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
    return this.#world.launch(run);
  }

  wake(execution: string, name: string): void {
    this.#afterwards.push(() => this.#world.wake(execution, name));
  }

  cancel(execution: string): void {
    this.#afterwards.push(() => this.#world.cancel(execution));
  }

  commit(): void {
    for (const [name, value] of this.#written) {
      if (value === null) this.#state.delete(name);
      else this.#state.set(name, value);
    }
    for (const act of this.#afterwards) act();
  }
}

/** The same round trip that a wire would make. */
export function copy(value: Json | undefined): Json {
  return value === undefined || value === null ? null : (JSON.parse(JSON.stringify(value)) as Json);
}

/** Lets everything else that is due happen first. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
