import { Json, type ObjectAddress, type ObjectContext, type ObjectMethod, type RunLaunch } from "#kernel";

/** The cost of one call of an object. */
export interface Cost {
  readonly result: Json;
  /** Number of starts of the method. */
  readonly tries: number;
  readonly roundTrips: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** Thrown out of a method that reads a value which is not loaded yet. */
const notLoaded = Symbol("not loaded");

/**
 * Hosts one object as the Restate engine does: a method that reads a value which is not loaded yet is left, and is
 * started again once the value is there. Counts what that costs.
 */
export class LazyObject {
  readonly key: string;
  readonly state = new Map<string, string>();
  readonly sent: { readonly to: ObjectAddress; readonly method: string; readonly argument: Json }[] = [];
  /** Executions that the object has cancelled, in order. */
  readonly cancelled: string[] = [];
  /** Executions that the object has killed, in order. */
  readonly killed: string[] = [];
  /** Wake-ups that the object has resolved, in order. */
  readonly woken: { readonly execution: string; readonly name: string; readonly value: Json }[] = [];
  /** Executions that the object has launched, in order. */
  readonly launched: RunLaunch[] = [];
  /** Calls of other objects, in order. */
  readonly called: { readonly method: string; readonly argument: Json }[] = [];
  /** Answers the calls of other objects. Default: with null. */
  answer: (method: string, argument: Json) => Json = () => null;
  /** The time that its calls see. */
  time = 1;
  /** The moment since which its worker serves, for calls. */
  hostedSince = 0;

  constructor(key: string) {
    this.key = key;
  }

  /** The names of the stored values that begin with a prefix. */
  keys(prefix: string): readonly string[] {
    return [...this.state.keys()].filter((name) => name.startsWith(prefix));
  }

  call(method: ObjectMethod, argument: unknown): Cost {
    const loaded = new Map<string, Json>();
    const replies: Json[] = [];
    const cost = { tries: 0, roundTrips: 0, bytesRead: 0 };
    const load = (names: readonly string[]): void => {
      const missing = names.filter((name) => !loaded.has(name));
      if (missing.length === 0) return;
      for (const name of missing) {
        const text = this.state.get(name) ?? "null";
        cost.bytesRead += text === "null" ? 0 : text.length;
        loaded.set(name, Json.as(JSON.parse(text)));
      }
      cost.roundTrips += 1;
      throw notLoaded;
    };
    for (;;) {
      cost.tries += 1;
      const attempt = this.#attempt(loaded, load, replies, cost);
      try {
        const result = method(attempt.context, Json.of(argument));
        return { ...cost, result, bytesWritten: this.#commit(attempt) };
      } catch (error) {
        if (error !== notLoaded) throw error;
      }
    }
  }

  #attempt(
    loaded: ReadonlyMap<string, Json>,
    load: (names: readonly string[]) => void,
    replies: Json[],
    cost: { roundTrips: number },
  ): Attempt {
    const written = new Map<string, Json>();
    const sent: Attempt["sent"] = [];
    const cancelled: string[] = [];
    const killed: string[] = [];
    const woken: Attempt["woken"] = [];
    let asked = 0;
    const ask = (reply: () => Json): Json => {
      const place = asked++;
      if (place < replies.length) return replies[place] ?? null;
      replies.push(reply());
      cost.roundTrips += 1;
      throw notLoaded;
    };
    const set = (name: string, value: Json): void => void written.set(name, value);
    const context: ObjectContext = {
      key: this.key,
      maxValueBytes: 16_000_000,
      keepsReferences: false,
      get: (name) => {
        if (written.has(name)) return written.get(name) ?? null;
        load([name]);
        return loaded.get(name) ?? null;
      },
      prefetch: load,
      list: (prefix) => {
        const names = new Set(this.state.keys());
        written.forEach((value, name) => (value === null ? names.delete(name) : names.add(name)));
        return [...names].filter((name) => name.startsWith(prefix)).toSorted();
      },
      set,
      clear: (name) => set(name, null),
      send: (to, method, argument) => void sent.push({ to, method, argument }),
      call: (_to, method, argument) =>
        ask(() => {
          this.called.push({ method, argument });
          return this.answer(method, argument);
        }),
      launch: (run) =>
        Json.as<string>(
          ask(() => {
            this.launched.push(run);
            return `execution ${this.launched.length}`;
          }),
        ),
      wake: (execution, name, value = null) => void woken.push({ execution, name, value }),
      cancel: (execution) => void cancelled.push(execution),
      kill: (execution) => void killed.push(execution),
      now: () => this.time,
      hostedSince: () => this.hostedSince,
    };
    return { context, written, sent, cancelled, killed, woken };
  }

  #commit({ written, sent, cancelled, killed, woken }: Attempt): number {
    let bytes = 0;
    for (const [name, value] of written) {
      if (value === null) this.state.delete(name);
      else {
        const text = JSON.stringify(value);
        bytes += text.length;
        this.state.set(name, text);
      }
    }
    this.sent.push(...sent);
    this.cancelled.push(...cancelled);
    this.killed.push(...killed);
    this.woken.push(...woken);
    return bytes;
  }
}

interface Attempt {
  readonly context: ObjectContext;
  readonly written: ReadonlyMap<string, Json>;
  readonly sent: LazyObject["sent"];
  readonly cancelled: readonly string[];
  readonly killed: readonly string[];
  readonly woken: LazyObject["woken"];
}
