import type { SessionStore } from "reeve/store";

/** A write and, above all, its answer can be lost. */
export interface Crash {
  /** Index of the write in the operation, from 0. */
  readonly write: number;
  readonly moment: "before" | "after";
}

class CrashError extends Error {}

const writes: ReadonlySet<PropertyKey> = new Set<keyof SessionStore>([
  "open",
  "fork",
  "append",
  "adopt",
  "rename",
  "remove",
  "moveLeaf",
  "settle",
]);

/** A store whose process dies at one write and is then restarted. */
export class CrashingStore {
  readonly store: SessionStore;
  #crash: Crash | null = null;
  #written = 0;

  constructor(real: SessionStore) {
    const through = (write: () => Promise<unknown>): Promise<unknown> => this.#through(write);
    this.store = new Proxy(real, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return (...args: readonly unknown[]): unknown => {
          const call = async (): Promise<unknown> => {
            const answer: unknown = await Reflect.apply(method, target, args);
            return answer;
          };
          return writes.has(name) ? through(call) : call();
        };
      },
    });
  }

  /** Runs the operation, with a crash if given, and then repeats it as a restarted process would. */
  async survive(crash: Crash | null, operation: () => Promise<unknown>): Promise<void> {
    this.#crash = crash;
    this.#written = 0;
    try {
      await operation();
      return;
    } catch (error) {
      if (!(error instanceof CrashError)) throw error;
    } finally {
      this.#crash = null;
    }
    await operation();
  }

  async #through(write: () => Promise<unknown>): Promise<unknown> {
    const dies = this.#crash?.write === this.#written++ ? this.#crash.moment : null;
    if (dies === "before") throw new CrashError();
    const result = await write();
    if (dies === "after") throw new CrashError();
    return result;
  }
}
