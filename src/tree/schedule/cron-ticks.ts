import { Cron } from "croner";
import { errorMessage } from "#base";

/** Allowed numbers of fields of a cron expression: five, or six with seconds in front. */
const fieldCounts: ReadonlySet<number> = new Set([5, 6]);

const nicknames = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@hourly"];

/** Time spans in which the latest tick is searched, the shortest first. */
const spansMs = [60_000, 3_600_000, 86_400_000, 32 * 86_400_000, 367 * 86_400_000, Infinity];

/** Number of ticks that are compared: more than the seconds of a minute, or the minutes of an hour. */
const sampledTicks = 100;

/**
 * The times at which a cron expression ticks in a time zone: whole seconds, in milliseconds since 1970. A local time
 * that a clock change skips ticks once, after the skipped hour. One that occurs twice ticks once.
 */
export class CronTicks {
  readonly #cron: Cron;

  /** @throws TypeError on an invalid expression or time zone. */
  constructor(expression: string, timeZone: string) {
    checkTimeZone(timeZone);
    checkFields(expression);
    try {
      // Without a function, the library arms no timer.
      this.#cron = new Cron(expression, { timezone: timeZone, paused: true });
    } catch (error) {
      const detail = errorMessage(error).replace(/^CronPattern: /, "");
      throw new TypeError(`cron ${JSON.stringify(expression)} is not valid: ${detail}`, { cause: error });
    }
  }

  /** Returns the first tick after a moment. Null: none. */
  next(after: number): number | null {
    return this.#cron.nextRun(new Date(after))?.getTime() ?? null;
  }

  /** Returns the shortest time between two of the next ticks. Infinity: there is at most one. */
  shortestInterval(after: number): number {
    let [shortest, last] = [Infinity, this.next(after)];
    for (let count = 0; count < sampledTicks && last !== null; count++) {
      const tick = this.next(last);
      if (tick !== null) shortest = Math.min(shortest, tick - last);
      last = tick;
    }
    return shortest;
  }

  /** Returns the last tick after `after` and not later than `until`. Null: none. */
  latest({ after, until }: { readonly after: number; readonly until: number }): number | null {
    for (const span of spansMs) {
      const from = Math.max(after, until - span);
      const found = this.#lastBetween(from, until);
      if (found !== null || from === after) return found;
    }
    return null;
  }

  #lastBetween(from: number, until: number): number | null {
    let last: number | null = null;
    for (let tick = this.next(from); tick !== null && tick <= until; tick = this.next(tick)) last = tick;
    return last;
  }
}

/** Checks the fields. The library also accepts dates, and `?` as the current time: neither is a repeating rule. */
function checkFields(expression: string): void {
  const fields = expression.trim().split(/\s+/);
  const isKnown = fieldCounts.has(fields.length) || nicknames.includes(expression.trim().toLowerCase());
  if (expression.length <= 256 && isKnown && !expression.includes("?")) return;
  throw new TypeError(
    `cron ${JSON.stringify(expression.slice(0, 256))} is not valid: give 5 fields (minute hour day month weekday), 6 with seconds in front, or one of ${nicknames.join(", ")}`,
  );
}

function checkTimeZone(timeZone: string): void {
  try {
    void new Intl.DateTimeFormat("en", { timeZone });
  } catch {
    throw new TypeError(
      `timeZone ${JSON.stringify(timeZone)} is not an IANA time zone, such as Europe/Berlin`,
    );
  }
}
