import type { ChatMiddleware } from "#kernel";

/** Options of a concurrency limit. */
export interface ConcurrencyOptions {
  /** Name of the limit, for example the provider's account. All layers of this process with the same key share it. */
  readonly key: string;
  /** Maximum number of calls in flight. If layers with one key differ, the smallest applies. */
  readonly max: number;
}

/**
 * Limits the calls of this process in flight for one account. Further calls wait, and tenants take turns: a tenant with
 * a thousand waiting calls delays another tenant by at most one call. A call that is cancelled while it waits leaves the
 * queue. A permit is free as soon as an attempt has ended: a retry waits again.
 */
export function concurrency({ key, max }: ConcurrencyOptions): ChatMiddleware {
  if (!(Number.isSafeInteger(max) && max >= 1))
    throw new RangeError(`max must be an integer >= 1, got ${max}`);
  const queue = queueOf(key, max);
  return {
    name: "concurrency",
    attempts: "sees",
    async process(context, next) {
      const { scope } = context;
      const began = scope.clock.now();
      const isWaiting = await queue.enter(scope.tenantId ?? "", scope.signal);
      if (isWaiting) scope.note("concurrency", `waited ${scope.clock.now() - began} ms for ${key}`);
      try {
        await next();
      } finally {
        queue.leave();
      }
    },
  };
}

interface WaitingCall {
  readonly admit: () => void;
}

/** A semaphore whose waiting callers are admitted in turns, one of each owner. */
class FairQueue {
  #max: number;
  #inFlight = 0;
  /** By owner, in the order of their turns. Owners without waiting callers are absent. */
  readonly #owners = new Map<string, WaitingCall[]>();

  constructor(max: number) {
    this.#max = max;
  }

  lower(max: number): void {
    this.#max = Math.min(this.#max, max);
  }

  /** Resolves once the caller is admitted. Returns whether it had to wait. @throws the signal's reason. */
  async enter(owner: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.#inFlight < this.#max && this.#owners.size === 0) {
      this.#inFlight += 1;
      return false;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: WaitingCall = { admit: resolve };
    const stop = (): void => {
      this.#remove(owner, waiting);
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    const queue = this.#owners.get(owner);
    if (queue) queue.push(waiting);
    else this.#owners.set(owner, [waiting]);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
    return true;
  }

  leave(): void {
    this.#inFlight -= 1;
    while (this.#inFlight < this.#max) {
      const [next] = this.#owners;
      if (!next) return;
      const [owner, queue] = next;
      const first = queue.shift();
      // Moved to the end of the queue: the next permit is another owner's.
      this.#owners.delete(owner);
      if (queue.length > 0) this.#owners.set(owner, queue);
      if (!first) continue;
      this.#inFlight += 1;
      first.admit();
    }
  }

  #remove(owner: string, waiting: WaitingCall): void {
    const left = (this.#owners.get(owner) ?? []).filter((other) => other !== waiting);
    if (left.length > 0) this.#owners.set(owner, left);
    else this.#owners.delete(owner);
  }
}

/** The queues of this process, one per account. */
const queues = new Map<string, FairQueue>();

function queueOf(key: string, max: number): FairQueue {
  const known = queues.get(key);
  known?.lower(max);
  const queue = known ?? new FairQueue(max);
  queues.set(key, queue);
  return queue;
}
