import {
  checkDuration,
  Json,
  type AnswerCache,
  type CacheLimits,
  type ChatContext,
  type ChatMiddleware,
  type FunctionContext,
  type FunctionMiddleware,
  type ModelResponse,
  type StepScope,
  type ToolResult,
} from "#kernel";
import { rejectOnAbort } from "#base";
import { MemoryCache } from "./memory-cache.ts";

/** The answers that are kept, the place, and the time. */
export interface CacheOptions {
  /**
   * `process`: each worker keeps its own. `store`: the workers share what the runtime's store keeps, sealed and apart for
   * each tenant; in the process if the runtime has no store. Default process.
   */
  readonly where?: "process" | "store" | undefined;
  /** The most entries: of this layer in this process, or of each tenant in the store. Default 1,000. */
  readonly max?: number | undefined;
  /** The bytes of all values together, as JSON; counted like `max`. Default 64 MB. */
  readonly maxBytes?: number | undefined;
  /** Default 3,600. Never longer than the retention of the run allows. */
  readonly ttlS?: number | undefined;
  /** A part of every key: another one finds nothing of before. Default empty. */
  readonly version?: string | undefined;
  /** Whether an answer serves its user alone, or all users of the tenant. Default user. */
  readonly share?: "user" | "tenant" | undefined;
}

/**
 * Answers an equal call of the same user, agent and version with the answer given before: nothing is reserved, nothing
 * is charged. A tool may depend on the user through `currentScope()`, which is no part of its arguments: only a layer
 * whose calls do not may share its answers within the tenant. Equal calls at the same time, in one process, are one
 * call; in two processes both are made, and the last answer is kept. Whole answers and results of safe tools that touch the
 * world are kept; never a failure, a refusal, an answer cut short, or the result of a riskier tool or one of memory, which
 * changes. A run whose retention is `none` neither finds nor leaves anything.
 */
export function cache(options: CacheOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { where = "process", ttlS = 3_600, version = "", share = "user" } = options;
  const limits = { max: options.max ?? 1_000, maxBytes: options.maxBytes ?? 64_000_000 };
  checkDuration("ttlS", ttlS);
  const own = new MemoryCache(limits);
  /** Resolve, never reject: those who wait look whether something was kept. */
  const inFlight = new Map<string, Promise<void>>();
  return {
    name: "cache",
    async process(context: ChatContext | FunctionContext, next) {
      const { scope } = context;
      if (scope.keepS === 0 || !mayKeep(context)) return next();
      const answers = (where === "store" ? scope.cache : null) ?? inProcess(own, scope);
      const owner = [scope.tenantId, share === "user" ? scope.userId : null];
      const key = await digest([version, share, owner, scope.version, context.agentName, subject(context)]);
      for (;;) {
        if (await answered(context, answers, key)) return scope.note("cache", `answered from the ${where}`);
        const other = inFlight.get(key);
        if (!other) break;
        await rejectOnAbort(other, scope.signal);
      }
      const made = Promise.withResolvers<void>();
      inFlight.set(key, made.promise);
      try {
        await next();
        await keepWhole(context, answers, { key, ttlS, limits });
      } finally {
        inFlight.delete(key);
        made.resolve();
      }
    },
  };
}

const inProcess = (own: MemoryCache, { clock }: StepScope): AnswerCache => ({
  get: async (key) => own.get(key, clock),
  put: async (key, answer) => own.put(key, answer),
});

async function answered(
  context: ChatContext | FunctionContext,
  answers: AnswerCache,
  key: string,
): Promise<boolean> {
  const found = await answers.get(key);
  if (found === undefined) return false;
  if ("tool" in context) context.result = Json.as<ToolResult>(found);
  else context.result = Json.as<ModelResponse>(found);
  return true;
}

async function keepWhole(
  { result, scope }: ChatContext | FunctionContext,
  answers: AnswerCache,
  { key, ttlS, limits }: { readonly key: string; readonly ttlS: number; readonly limits: CacheLimits },
): Promise<void> {
  if (!result || !isWhole(result)) return;
  const until = scope.clock.now() + Math.min(ttlS, scope.keepS) * 1000;
  await answers.put(key, { value: Json.of(result), until }, limits);
}

function mayKeep(context: ChatContext | FunctionContext): boolean {
  if (!("tool" in context)) return true;
  const { tool } = context;
  return tool.risk === "safe" && "execute" in tool && tool.origin !== "memory";
}

function isWhole(result: ModelResponse | ToolResult): boolean {
  if ("isError" in result) return !result.isError;
  return !result.shrunk && (result.finishReason === "stop" || result.finishReason === "tool-calls");
}

function subject(context: ChatContext | FunctionContext): unknown {
  if ("tool" in context) return ["tool", context.functionName, context.arguments];
  const { model, systemInstructions, messages, tools, options, restHash } = context;
  const asked = [model.provider ?? "", model.id, model.options ?? null];
  return ["model", ...asked, systemInstructions, messages, tools, options, restHash];
}

async function digest(subjects: readonly unknown[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(subjects));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("base64url");
}
