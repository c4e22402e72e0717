import { ChatMessage, type Guardrail, type GuardrailDecision } from "#kernel";
import { estimateTokens } from "#models";

/** Approximate limits in tokens. Absent: no limit. */
export interface TokenLimits {
  /** One message for the model. */
  readonly input?: number;
  /** One answer. */
  readonly output?: number;
}

/** Creates a guardrail that blocks texts over the limits. */
export function tokenLimits({ input, output }: TokenLimits): Guardrail {
  return {
    name: "token-limits",
    ...(input !== undefined && { onInput: ({ text }) => checkTokens(text, input) }),
    ...(output !== undefined && { onOutput: ({ text }) => checkTokens(text, output) }),
  };
}

function checkTokens(text: string, most: number): GuardrailDecision {
  const tokens = estimateTokens([ChatMessage.user(text)], []);
  return tokens <= most
    ? { kind: "allow" }
    : { kind: "block", reason: `it has about ${tokens} tokens: at most ${most} are allowed` };
}
