/** Header names are lower case. */
type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Returns the delay requested by a provider in milliseconds: from seconds, a date, or a header in milliseconds. A date
 * is compared with `now`, or else with the date of the response, so a wrong local clock does not matter. Null if there
 * is not a usable value.
 */
export function retryAfterMs(headers: Headers, now?: number): number | null {
  const exact = number(headers["retry-after-ms"]);
  if (exact !== null) return Math.ceil(exact);
  const given = headers["retry-after"];
  const seconds = number(given);
  if (seconds !== null) return Math.ceil(seconds * 1_000);
  if (!given || !/^[a-z]{3}/i.test(given)) return null;
  const until = Date.parse(given) - (now ?? Date.parse(headers["date"] ?? ""));
  return Number.isNaN(until) ? null : Math.max(0, until);
}

function number(text: string | undefined): number | null {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}
