import { type Micros, Money } from "#kernel";

const grouped = new Intl.NumberFormat("en-US");

/** Formats dollars: to the cent if that is precise enough, else with two significant digits. */
export function usd(amount: Micros): string {
  if (amount === 0) return "$0";
  const dollars = Money.usd(amount);
  if (amount % 10_000 === 0 || dollars >= 10) return `$${dollars.toFixed(2)}`;
  return `$${dollars.toFixed(dollars >= 0.1 ? 3 : dollars >= 0.001 ? 4 : 6)}`;
}

/** Dollars with every digit: for receipts, which add up. */
export function exactUsd(amount: Micros): string {
  return `$${Money.usd(amount).toFixed(6)}`;
}

/** A whole number, grouped. */
export function formatCount(value: number): string {
  return grouped.format(value);
}

/** `1 agent`, `2 agents`. */
export function formatCounted(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Formats a duration in its two largest units. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h ${Math.floor((whole % 3_600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d ${Math.floor((whole % 86_400) / 3_600)}h`;
}

/** A moment, in the time of this machine, to the second. */
export function moment(at: number): string {
  const date = new Date(at);
  const day = `${date.getFullYear()}-${pair(date.getMonth() + 1)}-${pair(date.getDate())}`;
  return `${day} ${pair(date.getHours())}:${pair(date.getMinutes())}:${pair(date.getSeconds())}`;
}

const pair = (value: number): string => String(value).padStart(2, "0");
