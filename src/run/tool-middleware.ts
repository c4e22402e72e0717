import { MiddlewareTermination, type FunctionContext, type Json, type Tool, ToolResult } from "#kernel";
import { throughLayers } from "#agents";
import { toStepScope, type StepExecution } from "./gated-step.ts";
import type { RunServices } from "./run-services.ts";

/** A tool call inside a step. */
interface LayeredCall {
  readonly tool: Tool;
  readonly input: Json;
  /** Makes the call itself, with the timeout that the layers have set. */
  readonly core: (timeoutMs: number) => Promise<ToolResult>;
}

/** Makes a tool call through the agent's function middleware. A layer that stops it gives an error result. */
export async function throughFunctionLayers(
  services: RunServices,
  execution: StepExecution,
  { tool, input, core }: LayeredCall,
): Promise<ToolResult> {
  const { identity, policy } = services;
  const { function: layers = [] } = policy.agent;
  if (layers.length === 0) return core(Infinity);
  const context: FunctionContext = {
    agentName: identity.agentId,
    runId: identity.scope.runId,
    functionName: tool.name,
    arguments: input,
    tool,
    timeoutMs: Infinity,
    result: undefined,
    scope: toStepScope(services, execution, policy.model),
  };
  try {
    await throughLayers(layers, context, async () => {
      context.result = await core(context.timeoutMs);
    });
  } catch (error) {
    if (error instanceof MiddlewareTermination) return ToolResult.failure(error.message);
    throw error;
  }
  return (
    context.result ??
    ToolResult.failure("tool middleware returned without calling next() or setting context.result")
  );
}
