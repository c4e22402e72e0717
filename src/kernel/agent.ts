import type { Inbox } from "./envelope.ts";
import type { Hireable } from "./hireable.ts";
import type { Json } from "./json.ts";
import type { Model } from "./model.ts";
import type { Continuation, RunContext } from "./run-context.ts";
import type { Tool } from "./tool.ts";

/** Somebody who works: an identity and an entry point. Everything else has a default. */
export interface Agent extends Hireable {
  /** Plain async code. Awaits only `ctx` and `inbox`. What it returns is the run's output. */
  run(ctx: RunContext, inbox: Inbox): Promise<Json | Continuation | void>;
  /** What `ctx.llm` asks unless told otherwise. */
  readonly model?: Model | undefined;
  /** What `ctx.tool` may call. */
  readonly tools?: readonly Tool[] | undefined;
}
