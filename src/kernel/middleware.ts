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
 * One layer around a call: work before, `await next()`, work after. To replace the result, set `result` and do not call
 * `next`. To stop, throw `MiddlewareTermination`.
 */
export interface Middleware<Context> {
  /** Display name, for errors and lists of agents. Default: the name of its class. */
  readonly name?: string;
  /** Whether `next` may be called again once it has settled, as retry, fallback and validation do. Default: false. */
  readonly repeats?: boolean;
  process(context: Context, next: () => Promise<void>): Promise<void>;
}

/**
 * The facilities of code inside a step. They pass the same gate and are charged to the same run, without a step of
 * their own.
 */
export interface StepScope {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The tenant of the run. Null: none. */
  readonly tenantId: TenantId | null;
  readonly userId: UserId | null;
  /** Version of the agent. */
  readonly version: string;
  /**
   * Seconds for which content of the run may be kept outside it. Infinity for retention `permanent`, the runtime's
   * `eraseAfterS` for `run`, 0 for `none`.
   */
  readonly keepS: number;
  /** The cache of the runtime's store. Null: the runtime has no store. */
  readonly cache: AnswerCache | null;
  /** Number of retries in this step so far, by any layer, including those before a long wait or a crash. */
  readonly retries: number;
  /** Makes a model call, charged to the current step. */
  llm(messages: readonly ChatMessage[], options?: ScopedLlmOptions): Promise<ModelResponse>;
  /**
   * Converts texts to vectors, one for each, charged to the current step. It does not count as a turn. @throws
   * BudgetExhaustedError when no account allows it; TypeError if the embedder returns invalid data.
   */
  embed(embedder: Embedder, texts: readonly string[]): Promise<readonly (readonly number[])[]>;
  /**
   * Waits. Around a model call, waits over 5 s end the step, even if a layer catches the error thrown for it. The step
   * starts over with all its layers when the time has come. It holds no slot in the process until then.
   */
  wait(ms: number): Promise<void>;
  /**
   * Counts one retry, records it in the stream, and waits as long as the schedule or the provider requires. Then call
   * `next` again.
   *
   * @throws the error itself if it may not be retried: a termination, a cancellation, a budget, a run that must yield.
   */
  waitForRetry(error: unknown, schedule?: Pick<ModelRetry, "baseMs">): Promise<void>;
  /**
   * Calls code of an extension, isolated and with a timeout of 30 s. An error is recorded with the step, published as
   * `extension.error` and ignored. Returns undefined then, and if the run was launched without the extension.
   */
  intercept<T>(
    extension: string,
    call: (context: ExtensionContext) => T | Promise<T>,
  ): Promise<T | undefined>;
  /**
   * Records a decision of a layer in the manifest of the wrapped call. Must be called before `next`: later calls are
   * not recorded. Names and figures only, no content.
   */
  note(by: string, decision: string): void;
  /**
   * Returns a keyed hash of a text, in base64url. It cannot be computed without the key. With a key of the program, the
   * hash is the same in all trees of the tenant. Default: the secret of the tree, shared by all its runs.
   */
  keyedHash(text: string, key?: Secret): string;
}

/** Options of a model call inside a step. */
interface ScopedLlmOptions {
  /** Default: the agent's. */
  readonly model?: Model;
  readonly maxOutputTokens?: number;
}

/**
 * The context of one run of an agent. Its middleware is replayed, so it has side effects only through the run's own
 * context.
 */
export interface AgentRunContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  input: string;
  result: Json | undefined;
}

/** The context of one model call. Its middleware runs only when the call is really made. */
export interface ChatContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  systemInstructions: string;
  messages: readonly ChatMessage[];
  tools: readonly ToolDescription[];
  options: JsonObject;
  /**
   * Hash of the request fields that layers cannot change: settings, tool choice, schema and limits of the call, and the
   * ephemeral state.
   */
  readonly restHash: string;
  /** The model to call. */
  model: Model;
  /** Timeout of one attempt. Default: 600,000. */
  timeoutMs: number;
  result: ModelResponse | undefined;
  readonly scope: StepScope;
}

/** The context of one tool call. Its middleware runs only when the call is really made. */
export interface FunctionContext {
  readonly agentName: AgentId;
  readonly runId: RunId;
  readonly functionName: string;
  readonly arguments: Json;
  /** The tool to call. */
  readonly tool: Tool;
  /** Timeout of the tool's effect, in addition to the tool's own limit. Default: none. */
  timeoutMs: number;
  result: ToolResult | undefined;
  readonly scope: StepScope;
}

/** A layer around a run. */
export type AgentMiddleware = Middleware<AgentRunContext>;
/** A layer around a model call. */
export interface ChatMiddleware extends Middleware<ChatContext> {
  /**
   * The layer's relation to retries: model calls are retried in one place. `makes`: this layer makes them. `sees`:
   * retries happen around this layer, so it sees every attempt. Default: retries happen inside all layers.
   */
  readonly attempts?: "makes" | "sees";
  /** Models that the layer may call. Their prices are pinned when a tree opens. Default: none. */
  readonly models?: readonly Model[] | undefined;
}
/** A layer around a tool call. */
export type FunctionMiddleware = Middleware<FunctionContext>;
