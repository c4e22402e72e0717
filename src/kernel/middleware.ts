import type { AnswerCache } from "./cache.ts";
import type { Clock } from "./clock.ts";
import type { Embedder } from "./embedder.ts";
import type { ExtensionContext } from "./extension-context.ts";
import type { AgentId, RunId, SessionId, TenantId, UserId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { Model, ModelResponse, ModelRetry, ToolDescription } from "./model.ts";
import type { Secret } from "./secret.ts";
import type { Tool } from "./tool.ts";
import type { ToolResult } from "./tool-result.ts";

/**
 * One layer around a call. Work before, `await next()`, work after. To answer instead, set `result` and do not
 * call `next`; to stop, throw `MiddlewareTermination`.
 */
export interface Middleware<Context> {
  /** For people: in errors and in lists of agents. Default: the name of its class. */
  readonly name?: string;
  /** May `next` be called again once it has settled? Retry, fallback and validation say so. Default false. */
  readonly repeats?: boolean;
  process(context: Context, next: () => Promise<void>): Promise<void>;
}

/** What code inside a step can ask for: the same gate and the same bill, without a step of its own. */
export interface StepScope {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Whose run this is. */
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  /** Of the agent. */
  readonly version: string;
  /**
   * The seconds for which content of the run may be kept outside of it: Infinity where its retention is `permanent`, the
   * runtime's `eraseAfterS` for `run`, 0 for `none`.
   */
  readonly keepS: number;
  /** The cache of the runtime's store. Null: the runtime has no store. */
  readonly cache: AnswerCache | null;
  /** How often calls of this step were made again so far: by whichever layer, and before a long wait or a crash, too. */
  readonly retries: number;
  /** A model call, charged as part of the step it is made in. */
  llm(messages: readonly ChatMessage[], options?: ScopedLlmOptions): Promise<ModelResponse>;
  /**
   * Turns texts into vectors, one for each, charged as part of the step. It is no turn of the run.
   * @throws BudgetExhaustedError when no account allows it; TypeError if the embedder returns something else.
   */
  embed(embedder: Embedder, texts: readonly string[]): Promise<readonly (readonly number[])[]>;
  /**
   * Waits. Around a model call, more than 5 s are not waited for here: the step ends, whatever is thrown for that or
   * made of it, and begins anew when the time has come, layers and all. No slot in the process is held meanwhile.
   */
  wait(ms: number): Promise<void>;
  /**
   * Counts one retry, tells the stream, and waits as long as the schedule or the provider wants. Then call `next` again.
   *
   * @throws the error itself if it may not be retried: a termination, a cancellation, a budget, a run that must yield.
   */
  again(error: unknown, schedule?: Pick<ModelRetry, "baseMs">): Promise<void>;
  /**
   * Calls code of an extension, isolated and for 30 s at most. What it throws is recorded with the step, told as
   * `extension.error` and passed over. Undefined then, and where the run was launched without the extension.
   */
  intercept<T>(
    extension: string,
    call: (context: ExtensionContext) => T | Promise<T>,
  ): Promise<T | undefined>;
  /**
   * Records what a layer does, among the decisions in the manifest of the call that it is around. Before `next`: later it
   * is not recorded. Names and figures only, no content.
   */
  note(by: string, decision: string): void;
  /**
   * Returns a keyed hash of a text, in base64url, which cannot be computed without the key. With a key of the program, it is
   * the same in all trees of the tenant. Default: the secret of the tree; it is the same in all its runs.
   */
  keyedHash(text: string, key?: Secret): string;
}

/** How code inside a step calls a model. */
interface ScopedLlmOptions {
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
  /**
   * A hash of everything else in the request, which layers cannot change: settings, tool choice, schema and limits of the
   * call, and the state that is shown in this call only.
   */
  readonly restHash: string;
  /** Which one is asked. */
  model: Model;
  /** How long one attempt may take. Default 600,000. */
  timeoutMs: number;
  result: ModelResponse | undefined;
  readonly scope: StepScope;
}

/** Around one tool call. Runs only when the call is really made. */
export interface FunctionContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  readonly functionName: string;
  readonly arguments: Json;
  /** What is called: its risk, for example. */
  readonly tool: Tool;
  /** How long it may take, where it touches the world; the tool's own limit holds besides. Default: no other. */
  timeoutMs: number;
  result: ToolResult | undefined;
  readonly scope: StepScope;
}

/** A layer around a run. */
export type AgentMiddleware = Middleware<AgentRunContext>;
/** A layer around a model call. */
export interface ChatMiddleware extends Middleware<ChatContext> {
  /**
   * Model calls are retried in one place. `makes`: in this layer, and nowhere else. `sees`: around this layer, so that
   * it sees every attempt. Default: inside all layers.
   */
  readonly attempts?: "makes" | "sees";
  /** Models that the layer may ask: their prices are pinned when a tree opens. Default: none. */
  readonly models?: readonly Model[] | undefined;
}
/** A layer around a tool call. */
export type FunctionMiddleware = Middleware<FunctionContext>;
