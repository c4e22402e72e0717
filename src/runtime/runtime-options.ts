import type {
  Agent,
  Approver,
  Clock,
  Engine,
  Extension,
  FailureLog,
  Guardrail,
  HistoryRetention,
  Hooks,
  InputLimits,
  Keys,
  MiddlewareSet,
  NumberedEvent,
  Permissions,
  Store,
  VectorStore,
} from "#kernel";
import type { WebhookSettings } from "#webhooks";
import type { StepPrompt } from "./step-content.ts";
import type { SweepOptions } from "./sweep.ts";

/** Takes the events of trees. */
export interface TreeTelemetry {
  /** Whether `take` is given the content of steps. Default: it is not. */
  readonly capturesContent?: boolean;
  /** Takes an event. With one that begins a step comes the content of the step, if any of it is recorded. */
  take(
    event: NumberedEvent,
    options: { readonly tenant?: string; readonly content?: StepPrompt | undefined },
  ): void;
}

/** The options of a runtime. */
export interface RuntimeOptions extends SweepOptions {
  /** The agents to start. Their teams, and the teams of those, are part of the program without being listed. */
  readonly agents: readonly Agent[];
  readonly engine: Engine;
  /**
   * The store for events, lists of runs and the audit. An engine that seals what leaves the process seals its content,
   * too. Default: nothing is kept.
   */
  readonly store?: Store;
  /**
   * The store for the vectors of memory, in place of the store's own. What is there is not sealed: a vector tells of its
   * text, and cannot be compared while it is sealed. Default: the store's own; if it is sealed, none.
   */
  readonly vectors?: VectorStore;
  /**
   * Where keys come from. They seal everything that leaves the process. Workers and clients of one program need the same
   * keys and the same store: keys that cannot be destroyed one by one only wrap those that a durable store keeps.
   * Default: on a durable engine `REEVE_KEY`, 32 bytes in base64, or the file `.reeve/key`, but not in production; on
   * another engine none.
   */
  readonly keys?: Keys;
  /**
   * Takes each error that the program's own code throws: tools, agents, steps, middleware, guardrails, hooks. Messages may
   * hold content. Default: nothing is logged.
   */
  readonly log?: FailureLog;
  /**
   * Takes the events of each tree, in order, once the tree is over and written into the store: also of trees that other
   * processes have started. A `Telemetry` of `reeve/telemetry` makes spans of them. Needs a store. Default: none.
   */
  readonly telemetry?: TreeTelemetry;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Permissions of agents that have none of their own. Default: safe tools run, others are refused. */
  readonly permissions?: Permissions | "allow-all";
  /**
   * The approver of calls that need an approval: people, through `approvals`, or code. Default: such calls are refused.
   */
  readonly approver?: "people" | Approver;
  /** How long a question to people stands; then the call is refused. Default a week. */
  readonly approvalExpiresS?: number;
  /** Guardrails of every agent, before the agent's own. Default: none. */
  readonly guardrails?: readonly Guardrail[];
  /** Middleware of every agent, around the agent's own. Default: none. */
  readonly middleware?: MiddlewareSet;
  /** Hooks of every agent, beside the agent's own. Default: none. */
  readonly hooks?: Hooks;
  /** Extensions of every agent, before the agent's own. Default: none. */
  readonly extensions?: readonly Extension[];
  /**
   * Whether a call needs an approval by which something leaves a run that has seen both untrusted and private content.
   * Default ask; a rule with `ruleOfTwo: "exempt"` makes an exception.
   */
  readonly ruleOfTwo?: "ask" | "off";
  /** How often a run that crashed is started again. Default 3. */
  readonly maxRestarts?: number;
  /** How long a run that must yield may finish its call before it is aborted. Default 60. */
  readonly yieldTimeoutS?: number;
  /**
   * How long a cancelled run may take to end by itself. Then its tree ends it: its worker may be gone. Default 10.
   */
  readonly cancelGraceS?: number;
  /**
   * How long after the end of a tree the content of its steps is kept in the store, for runs whose retention is not
   * `permanent`. Then the key of the tree is destroyed. The tree itself drops outputs, and content in events, of these
   * runs after 30 seconds at most. Default 86,400, a day.
   */
  readonly eraseAfterS?: number;
  /**
   * Whether the store keeps what each step of a run sent and got back: `steps` for model and tool calls, as their retention
   * allows. Default: `steps` where a store is given.
   */
  readonly record?: "off" | "steps";
  /** The retention of runs for which neither caller nor agent names one. Default: `permanent` for roots, `run` for others. */
  readonly retention?: HistoryRetention;
  /** Limits of every input. Default: 20 files of 20 MB, 40 MB together. */
  readonly input?: InputLimits;
  /**
   * Hints for the model by channel, such as how to format an answer there, over those for telegram, discord, slack and
   * terminal. Agents with sections show the one of their request. Default: those.
   */
  readonly platforms?: Readonly<Record<string, string>>;
  /** The directory that the footer of system prompts with sections names. Default: none is named. */
  readonly workingDirectory?: string;
  /** Settings of webhooks: which URLs are allowed, how often a delivery is tried. Default: public URLs over https. */
  readonly webhooks?: WebhookSettings;
  /** How long a run stands in line before it moves forward by one level. Default 60. */
  readonly ageingS?: number;
}
