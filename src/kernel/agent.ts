import type { Inbox } from "./envelope.ts";
import type { Guardrail } from "./guardrail.ts";
import type { Hireable } from "./hireable.ts";
import type { Hooks } from "./hook.ts";
import type { Json } from "./json.ts";
import type { AgentMiddleware, ChatMiddleware, FunctionMiddleware } from "./middleware.ts";
import type { Model, ModelRetry } from "./model.ts";
import type { Permissions } from "./permission.ts";
import type { Continuation, Ended, RunContext } from "./run-context.ts";
import type { Tool } from "./tool.ts";

/** Somebody who works: an identity and an entry point. Everything else has a default. */
export interface Agent extends Hireable {
  /** Plain async code. Awaits only `ctx` and `inbox`. What it returns is the run's output. */
  run(ctx: RunContext, inbox: Inbox): Promise<Json | Continuation | Ended | void>;
  /** What `ctx.llm` asks unless told otherwise. */
  readonly model?: Model | undefined;
  /** What `ctx.tool` may call. */
  readonly tools?: readonly Tool[] | undefined;
  /** What happens around its runs, its model calls and its tool calls. */
  readonly policy?: AgentPolicy | undefined;
}

/** The layers around an agent. First registered is outermost. */
export interface AgentPolicy {
  readonly agent?: readonly AgentMiddleware[] | undefined;
  readonly chat?: readonly ChatMiddleware[] | undefined;
  readonly function?: readonly FunctionMiddleware[] | undefined;
  /** Who watches. */
  readonly hooks?: Hooks | undefined;
  /** Who decides about tools. Default: safe ones run, others are refused. */
  readonly permissions?: Permissions | undefined;
  /** Who looks at what goes in and out, after those of the runtime. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  /** How model calls are retried. */
  readonly retry?: ModelRetry | undefined;
}
