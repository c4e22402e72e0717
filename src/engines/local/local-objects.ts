import {
  type Json,
  NotFoundError,
  type ObjectAsk,
  type ObjectAddress,
  type ObjectContext,
  type ObjectDefinition,
  type RunLaunch,
  type SendOptions,
} from "#kernel";
import { copy } from "./copy.ts";
import type { Hop } from "./hop.ts";
import type { LocalSinks } from "./local-sinks.ts";

/** What objects can do to runs and to time. */
export interface ObjectWorld {
  /** Names an execution. It begins when it is told to. */
  launch(run: RunLaunch): { readonly execution: string; readonly begin: () => void };
  wake(execution: string, name: string): void;
  cancel(execution: string): void;
  /** Calls back after so many milliseconds. */
  later(delayMs: number, callback: () => void, mayLapse: boolean): void;
  /** Lets others go first, as the way over a wire would. */
  readonly hop: Hop;
}

/** What is asked of an object. */
export interface ObjectCall {
  readonly to: ObjectAddress;
  readonly method: string;
  readonly argument: Json;
}

/** Somebody who wants to know of a change: of one name, or of any. */
interface Watcher {
  readonly name: string | undefined;
  readonly resolve: () => void;
}

interface StoredObject {
  readonly address: ObjectAddress;
  readonly state: Map<string, Json>;
  readonly watchers: Set<Watcher>;
}

/** Single-writer state in one process. A call runs from its beginning to its end; what it wrote before it threw is undone. */
export class LocalObjects {
  readonly #definitions = new Map<string, ObjectDefinition>();
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  readonly #world: ObjectWorld;
  readonly #sinks: LocalSinks;

  constructor(world: ObjectWorld, sinks: LocalSinks) {
    this.#world = world;
    this.#sinks = sinks;
  }

  define(definitions: readonly ObjectDefinition[]): void {
    for (const definition of definitions) this.#definitions.set(definition.type, definition);
  }

  /** Nothing is answered at once, as over a wire: code that relies on it shows here. */
  call(
    { to, method, argument }: ObjectCall,
    answer: (reply: Json) => void,
    fail: (error: unknown) => void,
    hop = this.#world.hop,
  ): void {
    const given = copy(argument);
    hop(() => {
      let reply: Json;
      try {
        reply = this.#execute(to, method, given);
      } catch (error) {
        return fail(error);
      }
      answer(reply);
    });
  }

  readonly ask: ObjectAsk = (to, method, argument) =>
    new Promise((resolve, reject) => this.call({ to, method, argument }, resolve, reject));

  /** Brings what one object has sent to another, or to a sink. */
  deliver(call: ObjectCall): void {
    const { to, argument } = call;
    if (this.#sinks.has(to.type)) this.#sinks.take(to.type, to.key, copy(argument), this.ask);
    else this.call(call, ignore, ignore);
  }

  /** One object calls another: inside its own call, so nothing comes between. */
  callFromObject(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#execute(to, method, copy(argument));
  }

  #execute(to: ObjectAddress, method: string, argument: Json): Json {
    const definition = this.#definitions.get(to.type);
    const query = definition?.queries[method];
    const run = query ?? definition?.methods[method];
    if (!run) throw new NotFoundError({ what: "method", id: `${to.type}.${method}` });
    const stored = this.#of(to);
    const work = new LocalWork(stored, this, this.#world);
    const reply = run(work, argument);
    if (!query) work.commit();
    return copy(reply);
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

  /** Resolves when there is something under that name. */
  written(to: ObjectAddress, name: string): Promise<void> {
    const { state, watchers } = this.#of(to);
    if (state.has(name)) return Promise.resolve();
    return new Promise((resolve) => watchers.add({ name, resolve }));
  }

  #of(address: ObjectAddress): StoredObject {
    let kind = this.#objects.get(address.type);
    if (!kind) this.#objects.set(address.type, (kind = new Map()));
    let stored = kind.get(address.key);
    if (!stored) kind.set(address.key, (stored = { address, state: new Map(), watchers: new Set() }));
    return stored;
  }
}

/** One call: its writes and its messages count when it has returned. */
class LocalWork implements ObjectContext {
  readonly key: string;
  readonly #stored: StoredObject;
  readonly #objects: LocalObjects;
  readonly #world: ObjectWorld;
  /** Made when there is something to write. */
  #written: Map<string, Json> | null = null;
  readonly #afterwards: (() => void)[] = [];

  constructor(stored: StoredObject, objects: LocalObjects, world: ObjectWorld) {
    this.key = stored.address.key;
    this.#stored = stored;
    this.#objects = objects;
    this.#world = world;
  }

  get(name: string): Json {
    const written = this.#written?.get(name);
    return written === undefined ? (this.#stored.state.get(name) ?? null) : written;
  }

  expect(): void {
    // Everything is at hand.
  }

  set(name: string, value: Json): void {
    this.#written ??= new Map();
    this.#written.set(name, value);
  }

  keep(name: string, value: Json): void {
    this.set(name, value);
  }

  clear(name: string): void {
    this.set(name, null);
  }

  send(
    to: ObjectAddress,
    method: string,
    argument: Json,
    { delayMs = 0, mayLapse = false }: SendOptions = {},
  ): void {
    const call = (): void => this.#objects.deliver({ to, method, argument });
    this.#afterwards.push(delayMs > 0 ? () => this.#world.later(delayMs, call, mayLapse) : call);
  }

  call(to: ObjectAddress, method: string, argument: Json): Json {
    return this.#objects.callFromObject(to, method, argument);
  }

  launch(run: RunLaunch): string {
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

  commit(): void {
    const { state, watchers } = this.#stored;
    const written = this.#written;
    written?.forEach((value, name) => {
      if (value === null) state.delete(name);
      else state.set(name, value);
    });
    for (const act of this.#afterwards) act();
    for (const watcher of watchers) {
      if (watcher.name !== undefined && !written?.has(watcher.name)) continue;
      watchers.delete(watcher);
      watcher.resolve();
    }
  }
}

const ignore = (): void => undefined;
