import {
  MiddlewareTermination,
  type FunctionContext,
  type Json,
  type StepIo,
  type Tool,
  ToolResult,
} from "#kernel";
import { throughLayers } from "#agents";
import type { ModelCalls } from "./model-calls.ts";
import type { ToolHost } from "./tool-host.ts";

/** A tool call inside a step. */
interface InnerCall {
  readonly io: StepIo;
  readonly tool: Tool;
  readonly input: Json;
  readonly calls: ModelCalls;
}

/** A tool call through the agent's function middleware. A layer that stops it gives an error result. */
export async function throughFunctionLayers(
  host: ToolHost,
  { io, tool, input, calls }: InnerCall,
  core: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const layers = host.policy.function ?? [];
  if (layers.length === 0) return core();
  const context: FunctionContext = {
    agentName: host.agentId,
    runId: host.scope.runId,
    functionName: tool.name,
    arguments: input,
    result: undefined,
    scope: {
      signal: io.signal,
      llm: (messages, given = {}) => calls.make(modelOf(host, given.model), messages, given),
    },
  };
  try {
    await throughLayers(layers, context, async () => {
      context.result = await core();
    });
  } catch (error) {
    if (error instanceof MiddlewareTermination) return ToolResult.failure(error.message);
    throw error;
  }
  return context.result ?? ToolResult.failure("middleware ended without a result");
}

function modelOf({ model }: ToolHost, given: ToolHost["model"]): NonNullable<ToolHost["model"]> {
  const known = given ?? model;
  if (!known) throw new TypeError("this agent has no model");
  return known;
}
