import type { EphemeralSource } from "./ephemeral.ts";
import type { Guardrail } from "./guardrail.ts";
import type { Hooks } from "./hook.ts";
import type { ExtensionProblem, Interceptions } from "./interceptions.ts";
import type { AgentMiddleware, ChatMiddleware, FunctionMiddleware } from "./middleware.ts";
import type { PromptSection } from "./prompt-section.ts";
import type { SavedTurnHandler } from "./run-memory.ts";
import type { Tool } from "./tool.ts";

/** Middleware by the calls that it is around. First registered is outermost. */
export interface MiddlewareSet {
  /** Around runs. */
  readonly agent?: readonly AgentMiddleware[] | undefined;
  /** Around model calls. */
  readonly chat?: readonly ChatMiddleware[] | undefined;
  /** Around tool calls. */
  readonly function?: readonly FunctionMiddleware[] | undefined;
}

/**
 * A bundle of parts that an agent may be given under one name. It is frozen data: when an agent is built, its parts join
 * those of the agent, and nothing else knows of the bundle.
 */
export interface Extension {
  readonly name: string;
  /** The agent's own tools win, then those of earlier extensions: another tool of the same name is left out. */
  readonly tools?: readonly Tool[] | undefined;
  /** They see every event of the agent, beside the hooks of others. */
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
   * Handlers by moment or by event. Those of a moment may change something; those of an event watch. One that throws, or takes
   * longer than 30 s, is passed over, and told as `extension.error`.
   */
  readonly on?: Interceptions | undefined;
  /**
   * Loads what is not known when the program is built, such as files: when the runtime starts, and at `reload()`. What it
   * returns comes right after this extension. It throws for what must not be passed over: then the runtime does not start, or
   * keeps what it had.
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
