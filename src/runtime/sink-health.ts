import { diagnose, LruMap } from "#base";
import type { FailureLog, StoreHealth } from "#kernel";
import { ignoreErrors } from "./ignore-errors.ts";

/** Consecutive failures of one order that are not logged: connections drop now and then. */
const quietFailures = 2;
const logEveryMs = 60_000;
/** Milliseconds within which an engine repeats an order. Later, another process has it. */
const repeatedMs = 15_000;

/** Dependencies of {@link SinkHealth}. */
export interface SinkHealthDeps {
  /** The sink in the log, such as `the writer of the store`. */
  readonly name: string;
  readonly now: () => number;
  /** Default: nothing is logged. */
  readonly log: FailureLog | undefined;
}

/** An order that has failed. */
interface FailingOrder {
  /** The time of the order, or of its oldest event. */
  readonly since: number;
  readonly failures: number;
  readonly failedAt: number;
}

/**
 * The failures and delays of a sink in this process. The engine repeats a failed order silently. Orders of one key come
 * one at a time.
 */
export class SinkHealth {
  readonly #deps: SinkHealthDeps;
  readonly #log: FailureLog;
  readonly #failing = new Map<string, FailingOrder>();
  readonly #writing = new Set<{ readonly since: number }>();
  /** The trees of this process that are stored in reduced form: a few of the latest keys, and the number of all. */
  readonly #reduced = new LruMap<string, true>({ max: 1_000 });
  #reducedTrees = 0;
  #loggedAt = -Infinity;
  #alarmedAt = -Infinity;

  constructor(deps: SinkHealthDeps) {
    this.#deps = deps;
    this.#log = ignoreErrors(deps.log);
  }

  /** Carries out an order of `since`. Notes its failure, which the caller gets. */
  async take(key: string, since: number, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failing.delete(key);
    } catch (error) {
      const { since: first = since, failures = 0 } = this.#failing.get(key) ?? {};
      this.#failing.set(key, { since: first, failures: failures + 1, failedAt: this.#deps.now() });
      this.#report(key, error);
      throw error;
    }
  }

  /** Counts the time of a write: it may have no answer for long. `since`: the time of its oldest event. */
  async write(since: number, work: () => Promise<void>): Promise<void> {
    const writing = { since };
    this.#writing.add(writing);
    try {
      await work();
    } finally {
      this.#writing.delete(writing);
    }
  }

  /** Whether the alarm was raised for a tree. */
  hasAlarm(key: string): boolean {
    return this.#reduced.get(key) === true;
  }

  /** Raises the alarm for a tree that is stored in reduced form. */
  alarm(key: string, error: Error): void {
    this.#reduced.set(key, true);
    this.#reducedTrees += 1;
    const now = this.#deps.now();
    if (now - this.#alarmedAt < logEveryMs) return;
    this.#alarmedAt = now;
    const message = `the store rejected a value of a tree, which is stored in reduced form; trees so far: ${this.#reducedTrees}`;
    this.#write(key, error, message);
  }

  get figures(): StoreHealth {
    const now = this.#deps.now();
    for (const [key, { failedAt }] of this.#failing)
      if (now - failedAt > repeatedMs) this.#failing.delete(key);
    const failing = [...this.#failing.values()];
    const times = [...failing, ...this.#writing].map(({ since }) => since);
    return {
      lagMs: Math.max(0, now - Math.min(now, ...times)),
      failedWrites: Math.max(0, ...failing.map(({ failures }) => failures)),
      reducedTrees: this.#reducedTrees,
    };
  }

  #report(key: string, error: unknown): void {
    const now = this.#deps.now();
    const { since = now, failures = 0 } = this.#failing.get(key) ?? {};
    if (failures <= quietFailures || now - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = now;
    this.#write(key, error, `${failures} times in a row, for an order of ${now - since} ms ago`);
  }

  #write(key: string, error: unknown, what: string): void {
    const diagnostic = diagnose(this.#deps.name, error);
    const name = error instanceof Error && "code" in error ? String(error.code) : diagnostic.name;
    const message = `${what}: ${diagnostic.message}`;
    const tree = key.slice(key.indexOf("/") + 1);
    this.#log({ tree, run: null, agent: null, diagnostic: { ...diagnostic, name, message } });
  }
}
