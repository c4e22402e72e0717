import { ChatMessage, type Guardrail, type GuardrailDecision } from "#kernel";
import { estimateTokens } from "#models";

/** How long things may be, in tokens, about. What is absent is not limited. */
export interface TokenLimits {
  /** One message for the model. */
  readonly input?: number;
  /** One answer. */
  readonly output?: number;
}

/** Blocks what is too long. */
export function tokenLimits({ input, output }: TokenLimits): Guardrail {
  return {
    name: "token-limits",
    ...(input !== undefined && { onInput: ({ text }) => within(text, input) }),
    ...(output !== undefined && { onOutput: ({ text }) => within(text, output) }),
  };
}

function within(text: string, most: number): GuardrailDecision {
  const tokens = estimateTokens([ChatMessage.user(text)], []);
  return tokens <= most
    ? { kind: "allow" }
    : { kind: "block", reason: `it has about ${tokens} tokens, and ${most} are the most` };
}
