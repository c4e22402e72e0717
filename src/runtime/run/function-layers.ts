import {
  MiddlewareTermination,
  type FunctionContext,
  type FunctionMiddleware,
  type Json,
  type StepIo,
  type Tool,
  ToolResult,
} from "#kernel";
import { throughLayers } from "#agents";
import type { ModelCalls } from "./model-calls.ts";
import { stepScope } from "./step-scope.ts";
import type { ToolHost } from "./tool-host.ts";

/** A tool call inside a step. */
interface InnerCall {
  readonly io: StepIo;
  readonly tool: Tool;
  readonly input: Json;
  readonly calls: ModelCalls;
}

/** A tool call through the agent's function middleware. A layer that stops it gives an error result. */
export function throughFunctionLayers(
  host: ToolHost,
  call: InnerCall,
  core: (timeoutMs: number) => Promise<ToolResult>,
): Promise<ToolResult> {
  const layers = host.policy.function ?? [];
  return layers.length === 0 ? core(Infinity) : throughAll(layers, host, call, core);
}

async function throughAll(
  layers: readonly FunctionMiddleware[],
  host: ToolHost,
  { io, tool, input, calls }: InnerCall,
  core: (timeoutMs: number) => Promise<ToolResult>,
): Promise<ToolResult> {
  const context: FunctionContext = {
    agentName: host.agentId,
    runId: host.scope.runId,
    functionName: tool.name,
    arguments: input,
    tool,
    timeoutMs: Infinity,
    result: undefined,
    scope: stepScope(host, io, calls, host.model),
  };
  try {
    await throughLayers(layers, context, async () => {
      context.result = await core(context.timeoutMs);
    });
  } catch (error) {
    if (error instanceof MiddlewareTermination) return ToolResult.failure(error.message);
    throw error;
  }
  return context.result ?? ToolResult.failure("middleware ended without a result");
}
