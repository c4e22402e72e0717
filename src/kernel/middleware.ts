import type { AgentId, RunId, SessionId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { Model, ModelResponse, ToolDescription } from "./model.ts";
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

/** What code inside a step can ask for: the same gate and the same bill, without a step of its own. */
export interface StepScope {
  readonly signal: AbortSignal;
  /** A model call, charged as part of the step it is made in. */
  llm(messages: readonly ChatMessage[], options?: ScopedLlmOptions): Promise<ModelResponse>;
}

/** How code inside a step calls a model. */
export interface ScopedLlmOptions {
  /** Default: the agent's. */
  readonly model?: Model;
  readonly maxOutputTokens?: number;
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
  readonly scope: StepScope;
}

/** Around one tool call. Runs only when the call is really made. */
export interface FunctionContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  readonly functionName: string;
  readonly arguments: Json;
  result: ToolResult | undefined;
  readonly scope: StepScope;
}

/** A layer around a run. */
export type AgentMiddleware = Middleware<AgentRunContext>;
/** A layer around a model call. */
export type ChatMiddleware = Middleware<ChatContext>;
/** A layer around a tool call. */
export type FunctionMiddleware = Middleware<FunctionContext>;
