/** The facts of a limit that does not allow something. */
interface RefusedAmount {
  readonly dimension: string;
  /** Micro-dollars where the dimension is `cost`. */
  readonly limit: number;
  readonly used: number;
  readonly reason?: string | null;
  readonly remedy?: string | null | undefined;
}

const priceRemedy =
  "state it with languageModel(model, { price: { input: <micro-dollars per million tokens>, output: <...> } })";

/** Returns the message for a refused call: the limit it met, the amount used, and a remedy. */
export function budgetMessage({ dimension, limit, used, reason, remedy }: RefusedAmount): string {
  const amount = (value: number): string => (dimension === "cost" ? `$${value / 1_000_000}` : String(value));
  const most = `the ${dimension} limit is ${amount(limit)}`;
  const fix = remedy ? `: ${remedy}` : "";
  if (reason === "unpriced")
    return `the price of the model is not known, and ${most}${fix || `: ${priceRemedy}`}`;
  if (reason === "unbounded") return `the size of the call is not known, and ${most}${fix}`;
  const isShort = dimension === "cost" || dimension === "tokens";
  const isExhausted = (reason ?? "exhausted") === "exhausted";
  const why = isExhausted ? (isShort ? ", and the call does not fit" : "") : ` (${reason})`;
  return `${dimension} budget exhausted: ${amount(used)} of ${amount(limit)} used${why}${fix}`;
}
