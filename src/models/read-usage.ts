import { Usage } from "#kernel";
import { wireField } from "./wire-field.ts";

/**
 * A provider's report in our convention: input includes what came from its cache or went there, output includes reasoning.
 * Null where a part we need is absent or cannot be true; a prompt is never empty, so an input of 0 is not a report.
 */
export function readUsage(reported: unknown): Usage | null {
  const input = readCount(wireField(reported, "inputTokens"), "total");
  const output = readCount(wireField(reported, "outputTokens"), "total");
  const cached = readCount(wireField(reported, "inputTokens"), "cacheRead");
  const written = readCount(wireField(reported, "inputTokens"), "cacheWrite");
  if (input === undefined || output === undefined || input === 0) return null;
  const usage: Usage = {
    input,
    output,
    ...(cached !== undefined && { cachedInput: cached }),
    ...(written !== undefined && written > 0 && { cacheWrite: written }),
  };
  return Usage.isSane(usage) ? usage : null;
}

function readCount(part: unknown, name: string): number | undefined {
  const value = wireField(part, name);
  return typeof value === "number" ? value : undefined;
}
