import type { ObjectAddress } from "#kernel";

const firstMs = 10;
const lastMs = 250;
const growth = 1.5;
const keptObjects = 1_000;

interface Watcher {
  readonly name: string | null;
  readonly hurry: () => void;
}

interface Watched {
  /** How long the next one waits that waits for any change. */
  anyMs: number;
  /** And the next one that waits for a change of one name. */
  namedMs: number;
  /** Its methods have run in this process, which then tells those who wait for a name. */
  isHere: boolean;
  readonly watchers: Set<Watcher>;
}

/**
 * Restate tells nobody that an object changed: those who wait look again, first often, then less often. Where this
 * process itself runs the object's methods, it tells them: then they look when there is something to see, and now
 * and then in case it happened elsewhere.
 */
export class ChangePoll {
  readonly #objects = new Map<string, Watched>();
  readonly #closing = new AbortController();

  /** Resolves when it is time to look again. @throws the signal's reason. */
  async changed(object: ObjectAddress, signal: AbortSignal, name: string | null = null): Promise<void> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    either.throwIfAborted();
    const watched = this.#of(object);
    const { promise, resolve } = Promise.withResolvers<void>();
    let timer = setTimeout(resolve, nextWait(watched, name));
    const hurry = (): void => {
      clearTimeout(timer);
      // What was written can be read only once the server has it.
      timer = setTimeout(resolve, firstMs);
    };
    const stop = (): void => resolve();
    const watcher: Watcher = { name, hurry };
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

  /** This process is about to change the object: those who wait will look soon. */
  reset(object: ObjectAddress): void {
    const watched = this.#objects.get(keyOf(object));
    if (!watched) return;
    watched.anyMs = firstMs;
    if (!watched.isHere) watched.namedMs = firstMs;
  }

  /** A method that ran here has written these names. */
  written(object: ObjectAddress, names: ReadonlySet<string>): void {
    const watched = this.#of(object);
    if (!watched.isHere) watched.namedMs = lastMs;
    watched.isHere = true;
    for (const { name, hurry } of watched.watchers) {
      if (name === null || !names.has(name)) continue;
      watched.namedMs = firstMs;
      hurry();
    }
  }

  close(): void {
    this.#closing.abort(new Error("the engine is closed"));
  }

  /** The one asked for becomes the newest; the oldest are forgotten. */
  #of(object: ObjectAddress): Watched {
    const key = keyOf(object);
    const fresh = { anyMs: firstMs, namedMs: firstMs, isHere: false, watchers: new Set<Watcher>() };
    const watched = this.#objects.get(key) ?? fresh;
    this.#objects.delete(key);
    this.#objects.set(key, watched);
    for (const oldest of this.#objects.keys()) {
      if (this.#objects.size <= keptObjects) break;
      this.#objects.delete(oldest);
    }
    return watched;
  }
}

function nextWait(watched: Watched, name: string | null): number {
  const which = name === null ? "anyMs" : "namedMs";
  const waitMs = watched[which];
  watched[which] = Math.min(lastMs, waitMs * growth);
  return waitMs;
}

function keyOf(object: ObjectAddress): string {
  return `${object.type}/${object.key}`;
}
