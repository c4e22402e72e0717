import type { ChangeOptions, ObjectAddress } from "#kernel";
import { backoffMs, LruMap } from "#base";

const firstMs = 10;
const poll = { firstMs, factor: 1.5, maxMs: 250 };
const maxObjects = 1_000;

interface Watcher {
  readonly name: string | undefined;
  readonly pollSoon: () => void;
}

interface WatchedObject {
  /** Number of waits for any change since the object was last expected to change. The delay grows with it. */
  anyWaits: number;
  /** Number of waits for a change of one name. */
  namedWaits: number;
  /** Whether its methods have run in this process, which then notifies waiters of a name. */
  runsHere: boolean;
  readonly watchers: Set<Watcher>;
}

/**
 * Polls objects for changes, because Restate does not notify: first often, then less often. If this process itself runs
 * the object's methods, it notifies the waiters. They then poll when there is a change, and rarely in case it happened
 * elsewhere.
 */
export class ChangePoll {
  readonly #objects = new LruMap<string, WatchedObject>({ max: maxObjects });
  readonly #closing = new AbortController();

  /** Resolves when it is time to poll again. @throws the signal's reason. */
  async waitForChange(object: ObjectAddress, { signal, name }: ChangeOptions): Promise<void> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    either.throwIfAborted();
    const watched = this.#getOrCreate(object);
    const { promise, resolve } = Promise.withResolvers<void>();
    let timer = setTimeout(resolve, nextWait(watched, name));
    const pollSoon = (): void => {
      clearTimeout(timer);
      // A write can be read only once the server has it.
      timer = setTimeout(resolve, firstMs);
    };
    const stop = (): void => resolve();
    const watcher: Watcher = { name, pollSoon };
    watched.watchers.add(watcher);
    either.addEventListener("abort", stop, { once: true });
    try {
      await promise;
      either.throwIfAborted();
    } finally {
      clearTimeout(timer);
      watched.watchers.delete(watcher);
      either.removeEventListener("abort", stop);
    }
  }

  /** Resets the delays, because this process is about to change the object. */
  reset(object: ObjectAddress): void {
    const watched = this.#objects.get(toObjectKey(object));
    if (!watched) return;
    watched.anyWaits = 0;
    if (!watched.runsHere) watched.namedWaits = 0;
  }

  /** Notifies waiters that a method in this process has written these names. */
  notifyWritten(object: ObjectAddress, names: ReadonlySet<string>): void {
    const watched = this.#getOrCreate(object);
    if (!watched.runsHere) watched.namedWaits = Infinity;
    watched.runsHere = true;
    for (const { name, pollSoon } of watched.watchers) {
      if (name === undefined || !names.has(name)) continue;
      watched.namedWaits = 0;
      pollSoon();
    }
  }

  close(): void {
    this.#closing.abort(new Error("the engine is closed"));
  }

  #getOrCreate(object: ObjectAddress): WatchedObject {
    return this.#objects.getOrCreate(toObjectKey(object), () => ({
      anyWaits: 0,
      namedWaits: 0,
      runsHere: false,
      watchers: new Set<Watcher>(),
    }));
  }
}

function nextWait(watched: WatchedObject, name: string | undefined): number {
  return backoffMs(name === undefined ? watched.anyWaits++ : watched.namedWaits++, poll);
}

function toObjectKey(object: ObjectAddress): string {
  return `${object.type}/${object.key}`;
}
