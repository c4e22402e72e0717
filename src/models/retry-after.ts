/** Header names are lower case. */
type Headers = Readonly<Record<string, string | undefined>>;

/**
 * How long a provider wants to be left alone, in milliseconds: seconds, a date, or milliseconds in a header of their
 * own. A date is compared with `now`, or else with the date the answer itself carries: a clock that is wrong here
 * does not matter then. Null where nothing usable was said.
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
