import type { Guardrail, GuardrailDecision } from "#kernel";
import { valueText } from "#base";
import { safeRegex } from "./safe-regex.ts";
import { toGuardedText } from "./guarded-text.ts";

/** Maximum characters that are checked. A longer text does not pass. */
const longestText = 1_000_000;

/** The data that a guardrail checks. */
export type GuardedField = "input" | "arguments" | "results" | "output";

/** Options of a content filter. */
export interface ContentFilterOptions {
  /** Texts, or expressions with bounded repetitions only, as in `\d{4,19}`. */
  readonly patterns: readonly (RegExp | string)[];
  /** Default: everywhere. */
  readonly on?: readonly GuardedField[];
  /** Default: block. */
  readonly decision?: "warn" | "block" | "halt";
  /** Default: `content-filter`. */
  readonly name?: string;
}

const everywhere: readonly GuardedField[] = ["input", "arguments", "results", "output"];

/**
 * Creates a guardrail that searches patterns in input, arguments, results and output. Takes linear time. @throws
 * TypeError for a pattern that might not.
 */
export function contentFilter({
  patterns,
  on = everywhere,
  decision = "block",
  name = "content-filter",
}: ContentFilterOptions): Guardrail {
  const compiled = patterns.map(safeRegex);
  const check = (text: string): GuardrailDecision => {
    if (text.length > longestText)
      throw new RangeError(`the text has ${text.length} characters: at most ${longestText} are checked`);
    const found = compiled.find((pattern) => pattern.test(text));
    return found ? { kind: decision, reason: `it matches ${String(found)}` } : { kind: "allow" };
  };
  return {
    name,
    ...(on.includes("input") && { onInput: ({ text }) => check(text) }),
    ...(on.includes("arguments") && { beforeCall: ({ input }) => check(valueText(input)) }),
    ...(on.includes("results") && { afterCall: ({ result }) => check(toGuardedText(result.content)) }),
    ...(on.includes("output") && { onOutput: ({ text }) => check(text) }),
  };
}
