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

/** Options of a cache. */
export interface CacheOptions {
  /**
   * `process`: each worker has its own cache. `store`: the workers share a cache in the runtime's store, sealed and
   * separate for each tenant; without a store, in the process. Default: process.
   */
  readonly where?: "process" | "store" | undefined;
  /** Maximum number of entries: of this layer in this process, or of each tenant in the store. Default: 1,000. */
  readonly max?: number | undefined;
  /** Maximum bytes of all values together, as JSON; counted like `max`. Default: 64 MB. */
  readonly maxBytes?: number | undefined;
  /** Default: 3,600. Never longer than the retention of the run allows. */
  readonly ttlS?: number | undefined;
  /** A part of every cache key. A new version finds no earlier entries. Default: empty. */
  readonly version?: string | undefined;
  /** Whether an answer is shared only within its user, or with all users of the tenant. Default: user. */
  readonly share?: "user" | "tenant" | undefined;
}

/**
 * Creates a cache. An equal call of the same user, agent and version gets the earlier answer: nothing is reserved or
 * charged. A tool may depend on the user through `currentScope()`, which is not part of its arguments: only a layer
 * whose calls do not may share its answers within the tenant. Concurrent identical calls in one process are
 * deduplicated; if the first one fails, or its answer cannot be kept, the others are made. In two processes both are
 * made, and the last answer is kept. Complete answers and results of safe
 * effect tools are cached. A failure, a refusal, a truncated answer, and the result of a riskier tool or of a memory
 * tool are never cached. A run with retention `none` neither reads nor writes the cache.
 */
export function cache(options: CacheOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { where = "process", ttlS = 3_600, version = "", share = "user" } = options;
  const limits = { max: options.max ?? 1_000, maxBytes: options.maxBytes ?? 64_000_000 };
  checkDuration("ttlS", ttlS);
  const own = new MemoryCache(limits);
  /** Resolve, never reject: waiting callers then check the cache. */
  const inFlight = new Map<string, Promise<void>>();
  return {
    name: "cache",
    async process(context: ChatContext | FunctionContext, next) {
      const { scope } = context;
      if (scope.keepS === 0 || !mayKeep(context)) return next();
      const answers = (where === "store" ? scope.cache : null) ?? inProcess(own, scope);
      const owner = [scope.tenantId, share === "user" ? scope.userId : null];
      const key = await digest([version, share, owner, scope.version, context.agentName, subject(context)]);
      const isKept = (): Promise<boolean> => getCachedAnswer(context, answers, key);
      const make = async (): Promise<void> => {
        await next();
        await keepWhole(context, answers, { key, ttlS, limits });
      };
      if (await isKept()) return scope.note("cache", `answered from the ${where}`);
      const other = inFlight.get(key);
      if (other) {
        await rejectOnAbort(other, scope.signal);
        if (await isKept()) return scope.note("cache", `answered from the ${where}`);
        // It failed, or its answer cannot be kept. Waiting for each other would make all calls one after the other.
        return make();
      }
      const made = Promise.withResolvers<void>();
      inFlight.set(key, made.promise);
      try {
        await make();
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

async function getCachedAnswer(
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
