/** The lengths of time that the screen shows. */
export const ranges = ["day", "14d", "30d", "month"] as const;
export type Range = (typeof ranges)[number];

/** The groups of the chart. */
export const groups = ["agent", "model", "user"] as const;
export type Group = (typeof groups)[number];

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A part of the time, in columns of hours or days. All of it is UTC, as budgets are. */
export interface Period {
  readonly from: number;
  readonly to: number;
  readonly unit: "hour" | "day";
  readonly columns: readonly Column[];
  /** For example "in 14 days", "today". */
  readonly text: string;
}

/** One bar. */
export interface Column {
  /** As named by the server. */
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly label: string;
  /** The whole of it, for readers. */
  readonly title: string;
}

const monthDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const monthYear = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** The period that ends today, or so many periods earlier. */
export function periodOf(range: Range, back: number, now: number): Period {
  const today = Math.floor(now / dayMs) * dayMs;
  if (range === "day") {
    const from = today - back * dayMs;
    return {
      ...part(from, from + dayMs, "hour"),
      text: back === 0 ? "today" : `on ${monthDay.format(from)}`,
    };
  }
  if (range === "month") {
    const { year, month } = { year: new Date(today).getUTCFullYear(), month: new Date(today).getUTCMonth() };
    const from = Date.UTC(year, month - back);
    return { ...part(from, Date.UTC(year, month - back + 1), "day"), text: `in ${monthYear.format(from)}` };
  }
  const days = range === "14d" ? 14 : 30;
  const to = today + dayMs - back * days * dayMs;
  return { ...part(to - days * dayMs, to, "day"), text: `in ${days} days` };
}

function part(from: number, to: number, unit: Period["unit"]): Omit<Period, "text"> {
  const step = unit === "hour" ? hourMs : dayMs;
  const columns = Array.from({ length: (to - from) / step }, (_, index) =>
    columnOf(from + index * step, unit, index),
  );
  return { from, to, unit, columns };
}

function columnOf(at: number, unit: Period["unit"], index: number): Column {
  const iso = new Date(at).toISOString();
  if (unit === "hour") {
    const time = `${iso.slice(11, 13)}:00`;
    const label = index % 3 === 0 ? time : "";
    return { key: `${iso.slice(0, 13)}:00Z`, from: at, to: at + hourMs, label, title: `${time} UTC` };
  }
  const isNamed = index === 0 || new Date(at).getUTCDate() === 1;
  const label = isNamed ? monthDay.format(at) : String(new Date(at).getUTCDate());
  return { key: iso.slice(0, 10), from: at, to: at + dayMs, label, title: monthDay.format(at) };
}

/** Dollars to the last micro-dollar, and at least to the cent. */
export function exactDollars(micros: number): string {
  const whole = Math.floor(micros / 1_000_000);
  const rest = String(micros % 1_000_000).padStart(6, "0");
  return `$${whole.toLocaleString("en-US")}.${rest.replace(/0{1,4}$/, "")}`;
}
