import type { AgentId, RunId, SessionId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { ModelResponse, ToolDescription } from "./model.ts";
import type { ToolResult } from "./tool-result.ts";

/**
 * One layer around a call. Work before, `await next()`, work after. To answer instead, set `result` and do not
 * call `next`; to stop, throw `MiddlewareTermination`.
 */
export interface Middleware<Context> {
  /** May `next` be called again once it has settled? Retry, fallback and validation say so. Default false. */
  readonly repeats?: boolean;
  process(context: Context, next: () => Promise<void>): Promise<void>;
}

/** Around one run of an agent. Replayed: touches the world only through the run's own context. */
export interface AgentRunContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  input: string;
  result: Json | undefined;
}

/** Around one model call. Runs only when the call is really made. */
export interface ChatContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  systemInstructions: string;
  messages: readonly ChatMessage[];
  tools: readonly ToolDescription[];
  options: JsonObject;
  result: ModelResponse | undefined;
}

/** Around one tool call. Runs only when the call is really made. */
export interface FunctionContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  readonly functionName: string;
  readonly arguments: Json;
  result: ToolResult | undefined;
}

/** A layer around a run. */
export type AgentMiddleware = Middleware<AgentRunContext>;
/** A layer around a model call. */
export type ChatMiddleware = Middleware<ChatContext>;
/** A layer around a tool call. */
export type FunctionMiddleware = Middleware<FunctionContext>;
