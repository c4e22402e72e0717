import {
  checkDuration,
  Json,
  type CacheStore,
  type ChatContext,
  type ChatMiddleware,
  type FunctionContext,
  type FunctionMiddleware,
  type ModelResponse,
  type Partition,
  type ToolResult,
} from "#kernel";
import { rejectOnAbort } from "#base";
import { MemoryCache, type MemoryCacheOptions } from "./memory-cache.ts";

/** What is kept, and for how long. */
export interface CacheOptions extends MemoryCacheOptions {
  /** Where it is kept. Default: in this process, within `max` and `maxBytes`. */
  readonly store?: CacheStore | undefined;
  /** Default 3,600. */
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
 * call. Whole answers and results of safe tools that touch the world are kept; never a failure, a refusal, an answer cut
 * short, or the result of a riskier tool or one of memory, which changes.
 */
export function cache(options: CacheOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { store = new MemoryCache(options), ttlS = 3_600, version = "", share = "user" } = options;
  checkDuration("ttlS", ttlS);
  /** Resolve, never reject: those who wait look whether something was kept. */
  const inFlight = new Map<string, Promise<void>>();
  return {
    async process(context: ChatContext | FunctionContext, next) {
      if (!mayKeep(context)) return next();
      const { scope } = context;
      const partition = { tenantId: scope.tenantId };
      const owner = [scope.tenantId, share === "user" ? scope.userId : null];
      const key = await digest([version, share, owner, scope.version, context.agentName, subject(context)]);
      for (;;) {
        if (await answered(context, store, { partition, key })) return;
        const other = inFlight.get(key);
        if (!other) break;
        await rejectOnAbort(other, scope.signal);
      }
      const made = Promise.withResolvers<void>();
      inFlight.set(key, made.promise);
      try {
        await next();
        const { result } = context;
        if (result && isWhole(result))
          await store.put(partition, key, {
            value: Json.of(result),
            until: scope.clock.now() + ttlS * 1000,
          });
      } finally {
        inFlight.delete(key);
        made.resolve();
      }
    },
  };
}

async function answered(
  context: ChatContext | FunctionContext,
  store: CacheStore,
  { partition, key }: { readonly partition: Partition; readonly key: string },
): Promise<boolean> {
  const found = await store.get(partition, key, context.scope.clock.now());
  if (found === undefined) return false;
  if ("tool" in context) context.result = Json.as<ToolResult>(found);
  else context.result = Json.as<ModelResponse>(found);
  return true;
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
  const { model, systemInstructions, messages, tools, options } = context;
  return ["model", model.provider ?? "", model.id, systemInstructions, messages, tools, options];
}

async function digest(subjects: readonly unknown[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(subjects));
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("base64url");
}
