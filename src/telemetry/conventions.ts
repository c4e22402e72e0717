/**
 * Names from OpenTelemetry's semantic conventions for generative AI, as of 2026. They are in development, and the
 * package that lists them is deprecated: what we use is here, in one place to change.
 */
export const genAi = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  workflow: "gen_ai.workflow.name",
  agentName: "gen_ai.agent.name",
  agentId: "gen_ai.agent.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  tokenType: "gen_ai.token.type",
  toolName: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
  systemInstructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolDefinitions: "gen_ai.tool.definitions",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  errorType: "error.type",
} as const;

/** Attributes without a name in the conventions. */
export const reeve = {
  tree: "reeve.tree.id",
  run: "reeve.run.id",
  step: "reeve.step.id",
  attempt: "reeve.attempt.id",
  attempts: "reeve.attempts",
  cycle: "reeve.cycle",
  priority: "reeve.priority",
  status: "reeve.status",
  stopReason: "reeve.stop_reason",
  costUsd: "reeve.cost_usd",
  inDoubt: "reeve.in_doubt",
  child: "reeve.child.run.id",
} as const;
