/** Millionths of a dollar. */
export type Micros = number;

/** Dollars to a hundredth of a cent, as bars and rows show them. */
export function dollars(amount: Micros): string {
  return `$${(amount / 1_000_000).toFixed(4)}`;
}

/** A limit: to the cent where that is exact. */
export function limitDollars(amount: Micros): string {
  return amount % 10_000 === 0 ? `$${(amount / 1_000_000).toFixed(2)}` : dollars(amount);
}

const grouped = new Intl.NumberFormat("en-US");

/** A whole number, grouped. */
export const count = (value: number): string => grouped.format(value);

/** `1 agent`, `2 agents`. */
export const countText = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** Tokens in three digits: `840`, `12.1 k`, `1.21 M`. */
export function tokens(value: number): string {
  if (value < 10_000) return count(value);
  return value < 1_000_000 ? `${(value / 1000).toPrecision(3)} k` : `${(value / 1_000_000).toPrecision(3)} M`;
}

/** A length of time in one unit: `41 s`, `2 min`, `3 h`, `5 d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

const pair = (value: number): string => String(value).padStart(2, "0");

/** Times up to this long are shown with tenths of a second. */
const shortMs = 10_000;

/** A running clock: `4:12`, `1:04:12`; `0.3 s` as a part of a short time. `lengthMs`: the whole time, if it is over. */
export function stopwatch(ms: number, lengthMs = shortMs): string {
  if (lengthMs < shortMs) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const tail = pair(seconds % 60);
  return minutes < 60 ? `${minutes}:${tail}` : `${Math.floor(minutes / 60)}:${pair(minutes % 60)}:${tail}`;
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** A moment of today, to the second, in the reader's zone. */
export const clockTime = (at: number): string => timeOfDay.format(at);

/** A moment of any day, to the minute, in the reader's zone. */
export const dayTime = (at: number): string => dayAndTime.format(at);
