import type { Architecture } from "./architecture.ts";
import type { CompactionPolicy, HistoryProvider } from "./compaction.ts";
import type { Continuation, Ended } from "./ended.ts";
import type { Inbox } from "./envelope.ts";
import type { EphemeralSource } from "./ephemeral.ts";
import type { Guardrail } from "./guardrail.ts";
import type { AgentSpec } from "./agent-spec.ts";
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
export interface Agent<Output = Json, Task = Input> extends AgentSpec<Output, Task> {
  /** Runs the agent: plain async code that awaits only `ctx` and `inbox`. The returned value is the run's output. */
  run(ctx: RunContext, inbox: Inbox): Promise<Output | Continuation | Ended | void>;
  /** Default model of `ctx.llm`. */
  readonly model?: Model | undefined;
  /** Tools that `ctx.tool` may call. */
  readonly tools?: readonly Tool[] | undefined;
  /** The agents that it spawns. They are part of every program that the agent is part of. */
  readonly team?: readonly (AgentSpec | { readonly agent: AgentSpec })[] | undefined;
  /** The agents that it hands the conversation to. They are part of every program that the agent is part of. */
  readonly handoffs?: readonly (AgentSpec | { readonly agent: AgentSpec })[] | undefined;
  /** The architecture that leads its workers. They are part of every program that the agent is part of. */
  readonly architecture?: Architecture | undefined;
  /** Maximum restarts of a crashed run of this agent. Default: the runtime's. */
  readonly maxRestarts?: number | undefined;
  /** Layers around the agent's runs, model calls and tool calls. */
  readonly policy?: AgentPolicy | undefined;
}

/** The layers around an agent. First registered is outermost. */
export interface AgentPolicy {
  readonly agent?: readonly AgentMiddleware[] | undefined;
  readonly chat?: readonly ChatMiddleware[] | undefined;
  readonly function?: readonly FunctionMiddleware[] | undefined;
  /** Observers of the agent's events. */
  readonly hooks?: Hooks | undefined;
  /** Rules that decide about tool calls. Default: safe tools run, all other tools are refused. */
  readonly permissions?: Permissions | undefined;
  /** Checks of input, output and tool calls. They run after the runtime's guardrails. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  /** Retry rules for model calls. */
  readonly retry?: ModelRetry | undefined;
  /** Rules that keep prompts within the model's context. False: no summaries. Default: the default of each field. */
  readonly compaction?: CompactionPolicy | false | undefined;
  /** Source of the messages before a turn. Default: the store. */
  readonly history?: HistoryProvider | undefined;
  /** State that its model is shown last in every call of a turn. It is not stored. Default: none. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /**
   * The sections of its system prompt. With any list, even an empty one, the prompt also has the channel's hint and the
   * footer.
   */
  readonly sections?: readonly PromptSection[] | undefined;
  /** Called with every turn of a kept conversation, once it is saved. */
  readonly onSaved?: readonly SavedTurnHandler[] | undefined;
  /** The handlers of its extensions, in their order. Default: none. */
  readonly interceptions?: readonly NamedInterceptions[] | undefined;
  /** Parts of its extensions that were left out. Default: none. */
  readonly problems?: readonly ExtensionProblem[] | undefined;
}
