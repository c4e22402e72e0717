import type { Architecture } from "./architecture.ts";
import type { CompactionPolicy, HistoryProvider } from "./compaction.ts";
import type { Continuation, Ended } from "./ended.ts";
import type { Inbox } from "./envelope.ts";
import type { EphemeralSource } from "./ephemeral.ts";
import type { Guardrail } from "./guardrail.ts";
import type { Hireable } from "./hireable.ts";
import type { Hooks } from "./hook.ts";
import type { Input } from "./input.ts";
import type { ExtensionProblem, NamedInterceptions } from "./interceptions.ts";
import type { Json } from "./json.ts";
import type { AgentMiddleware, ChatMiddleware, FunctionMiddleware } from "./middleware.ts";
import type { Model, ModelRetry } from "./model.ts";
import type { Permissions } from "./permission.ts";
import type { PromptSection } from "./prompt-section.ts";
import type { RunContext } from "./run-context.ts";
import type { SavedTurnHandler } from "./run-memory.ts";
import type { Tool } from "./tool.ts";

/** An identity and an entry point. Everything else has a default. */
export interface Agent<Output = Json, Task = Input> extends Hireable<Output, Task> {
  /** Plain async code. Awaits only `ctx` and `inbox`. What it returns is the run's output. */
  run(ctx: RunContext, inbox: Inbox): Promise<Output | Continuation | Ended | void>;
  /** What `ctx.llm` asks unless told otherwise. */
  readonly model?: Model | undefined;
  /** What `ctx.tool` may call. */
  readonly tools?: readonly Tool[] | undefined;
  /** The agents that it spawns. They are part of every program that the agent is part of. */
  readonly team?: readonly (Hireable | { readonly agent: Hireable })[] | undefined;
  /** The agents that it hands the conversation to. They are part of every program that the agent is part of. */
  readonly handoffs?: readonly (Hireable | { readonly agent: Hireable })[] | undefined;
  /** The way in which it leads its workers. They are part of every program that the agent is part of. */
  readonly architecture?: Architecture | undefined;
  /** How often a run of it that crashed is started again. Default: the runtime's. */
  readonly maxRestarts?: number | undefined;
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
  /** How prompts are kept within the context of the model; false: no summaries. Default: with the defaults of its fields. */
  readonly compaction?: CompactionPolicy | false | undefined;
  /** Where the messages before a turn come from. Default: the store. */
  readonly history?: HistoryProvider | undefined;
  /** State that its model is shown last in every call of a turn, and that is kept nowhere. Default: none. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** The sections of its system prompt. With any list, also an empty one, come the hint of the channel and the footer. */
  readonly sections?: readonly PromptSection[] | undefined;
  /** Called with every turn of a kept conversation, once it is saved. */
  readonly onSaved?: readonly SavedTurnHandler[] | undefined;
  /** The handlers of its extensions, in their order. Default: none. */
  readonly interceptions?: readonly NamedInterceptions[] | undefined;
  /** Parts of its extensions that were left out. Default: none. */
  readonly problems?: readonly ExtensionProblem[] | undefined;
}
