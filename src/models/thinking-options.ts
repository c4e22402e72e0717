import type { JsonObject, ModelSettings } from "#kernel";

/** The part of the granted output that the model may spend on thinking. */
const shares: Readonly<Record<NonNullable<ModelSettings["reasoning"]>, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.4,
  high: 0.6,
  xhigh: 0.8,
  max: 0.9,
};

/**
 * Returns the options for an effort of reasoning where the provider's package would add a thinking budget to the output
 * limit: the budget is stated here, inside the limit. Null for packages that keep reasoning inside the limit themselves.
 */
export function thinkingOptions(
  provider: string,
  reasoning: NonNullable<ModelSettings["reasoning"]>,
  granted: number,
): JsonObject | null {
  const budgetTokens = Math.floor(granted * shares[reasoning]);
  const thinking = budgetTokens === 0 ? { type: "disabled" } : { type: "enabled", budgetTokens };
  if (provider.includes("anthropic")) return { anthropic: { thinking } };
  if (provider.includes("bedrock")) return { bedrock: { reasoningConfig: thinking } };
  return null;
}
