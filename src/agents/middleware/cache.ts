import {
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
import { LruCache, type LruOptions } from "./lru.ts";

/** What is kept, and for how long. */
export interface CacheOptions extends LruOptions {
  /** Where it is kept. Default: in this process, within `max` and `maxBytes`. */
  readonly store?: CacheStore | undefined;
  /** Default 3,600. */
  readonly ttlS?: number | undefined;
  /** A part of every key: another one finds nothing of before. Default empty. */
  readonly version?: string | undefined;
}

/**
 * Answers an equal call of the same tenant, agent and version from what it was answered before: nothing is reserved,
 * nothing is charged. Equal calls at the same time, in one process, are one call. Kept are whole answers and results of
 * safe tools that touch the world; never a failure, a refusal, an answer cut short, or what a riskier tool did.
 */
export function cache(options: CacheOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { store = new LruCache(options), ttlS = 3_600, version = "" } = options;
  /** Resolve, never reject: those who wait look whether something was kept. */
  const inFlight = new Map<string, Promise<void>>();
  return {
    async process(context: ChatContext | FunctionContext, next) {
      if (!mayKeep(context)) return next();
      const { scope } = context;
      const partition = { tenantId: scope.tenantId };
      const key = await digest([version, scope.tenantId, scope.version, context.agentName, subject(context)]);
      for (;;) {
        if (await answered(context, store, partition, key)) return;
        const other = inFlight.get(key);
        if (!other) break;
        await unlessStopped(other, scope.signal);
      }
      const made = Promise.withResolvers<void>();
      inFlight.set(key, made.promise);
      try {
        await next();
        const { result } = context;
        if (result && isWhole(result))
          await store.put(partition, key, Json.of(result), scope.clock.now() + ttlS * 1000);
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
  partition: Partition,
  key: string,
): Promise<boolean> {
  const found = await store.get(partition, key, context.scope.clock.now());
  if (found === undefined) return false;
  if ("tool" in context) context.result = Json.as<ToolResult>(found);
  else context.result = Json.as<ModelResponse>(found);
  return true;
}

function mayKeep(context: ChatContext | FunctionContext): boolean {
  return !("tool" in context) || (context.tool.risk === "safe" && "execute" in context.tool);
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

/** Waits for somebody else's call, but not when told to stop. */
async function unlessStopped(other: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([other, stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
