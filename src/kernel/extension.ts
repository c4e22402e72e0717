import type { EphemeralSource } from "./ephemeral.ts";
import type { Guardrail } from "./guardrail.ts";
import type { Hooks } from "./hook.ts";
import type { ExtensionProblem, Interceptions } from "./interceptions.ts";
import type { AgentMiddleware, ChatMiddleware, FunctionMiddleware } from "./middleware.ts";
import type { PromptSection } from "./prompt-section.ts";
import type { SavedTurnHandler } from "./run-memory.ts";
import type { Tool } from "./tool.ts";

/** Middleware by the kind of call that it wraps. The first registered is outermost. */
export interface MiddlewareSet {
  /** Around runs. */
  readonly agent?: readonly AgentMiddleware[] | undefined;
  /** Around model calls. */
  readonly chat?: readonly ChatMiddleware[] | undefined;
  /** Around tool calls. */
  readonly function?: readonly FunctionMiddleware[] | undefined;
}

/**
 * A bundle of parts that an agent may be given under one name. It is frozen data. When an agent is built, the parts
 * join those of the agent.
 */
export interface Extension {
  readonly name: string;
  /** The agent's own tools win, then those of earlier extensions. A later tool of the same name is left out. */
  readonly tools?: readonly Tool[] | undefined;
  /** Hooks that see every event of the agent, in addition to its other hooks. */
  readonly hooks?: Hooks | undefined;
  /** Around the agent's own middleware. */
  readonly middleware?: MiddlewareSet | undefined;
  /** Called before the agent's own guardrails. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  /** Within a place they come before the agent's own sections. */
  readonly sections?: readonly PromptSection[] | undefined;
  /** Shown before the agent's own sources. */
  readonly ephemeral?: readonly EphemeralSource[] | undefined;
  /** Called with every turn of a kept conversation, once it is saved. */
  readonly onSaved?: readonly SavedTurnHandler[] | undefined;
  /**
   * Handlers by moment or by event. Handlers of a moment may change a value; handlers of an event only observe. A
   * handler that throws, or takes over 30 s, is skipped and recorded as `extension.error`.
   */
  readonly on?: Interceptions | undefined;
  /**
   * Loads parts that are unknown when the program is built, such as files. Called when the runtime starts and at
   * `reload()`. The returned parts come right after this extension. If it throws, the runtime does not start, or keeps
   * the parts it had.
   */
  readonly load?: (() => Promise<LoadedParts>) | undefined;
}

/** The parts that an extension has loaded. */
export interface LoadedParts {
  readonly extensions?: readonly Extension[] | undefined;
  /** They replace guardrails of extensions that have the same name. */
  readonly guardrails?: readonly Guardrail[] | undefined;
  /** Files and other sources that were left out. */
  readonly problems?: readonly ExtensionProblem[] | undefined;
}
