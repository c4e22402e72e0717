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
import type { BacklogLimits, ScheduleLimits } from "#tree";
import type { WebhookSettings } from "#webhooks";
import type { StepPrompt } from "./step-content.ts";
import type { SweepOptions } from "./sweep.ts";

/** A consumer of the events of trees. */
export interface TreeTelemetry {
  /** Whether `take` gets the content of steps. Default: false. */
  readonly capturesContent?: boolean;
  /** Takes an event. An event that begins a step comes with the content of the step, if it is recorded. */
  take(
    event: NumberedEvent,
    options: { readonly tenant?: string; readonly content?: StepPrompt | undefined },
  ): void;
  /** Counts a tree that is stored in reduced form, because the store rejected a value of it. */
  takeReduced?(): void;
}

/** The options of a runtime. */
export interface RuntimeOptions extends SweepOptions {
  /** The agents to start. Their teams, recursively, are part of the program without being listed. */
  readonly agents: readonly Agent[];
  readonly engine: Engine;
  /**
   * The store for events, lists of runs and the audit. If the engine seals data that leaves the process, the store's
   * content is sealed, too. Default: nothing is stored.
   */
  readonly store?: Store;
  /**
   * The store for the vectors of memory, instead of the store's own. It is not sealed: a vector reveals its text, and
   * cannot be compared while it is sealed. Default: the store's own; if that is sealed, none.
   */
  readonly vectors?: VectorStore;
  /**
   * The source of keys. They seal everything that leaves the process. Workers and clients of one program need the same
   * keys and the same store: keys that cannot be destroyed one by one only wrap those that a durable store keeps.
   * Default on a durable engine: `REEVE_KEY`, 32 bytes in base64, or the file `.reeve/key`, but not in production.
   * Default on other engines: none.
   */
  readonly keys?: Keys;
  /**
   * Receives each error of the program's own code: tools, agents, steps, middleware, guardrails, hooks. Once a minute
   * also that of a store that fails again and again. Messages may hold content. Default: nothing is logged.
   */
  readonly log?: FailureLog;
  /**
   * Takes the events of each tree, in order, once the tree has ended and is written into the store, including trees
   * that other processes have started. A `Telemetry` of `reeve/telemetry` converts them to spans. Requires a store.
   * Default: none.
   */
  readonly telemetry?: TreeTelemetry;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Permissions of agents that have none. Default: safe tools run, all other tools are refused. */
  readonly permissions?: Permissions | "allow-all";
  /**
   * The approver of calls that require approval: people, through `approvals`, or code. Default: such calls are refused.
   */
  readonly approver?: "human" | Approver;
  /** Seconds until an unanswered approval request expires and the call is refused. Default: a week. */
  readonly approvalExpiresS?: number;
  /** Guardrails of every agent, before the agent's own. Default: none. */
  readonly guardrails?: readonly Guardrail[];
  /** Middleware of every agent, around the agent's own. Default: none. */
  readonly middleware?: MiddlewareSet;
  /** Hooks of every agent, in addition to the agent's own. Default: none. */
  readonly hooks?: Hooks;
  /** Extensions of every agent, before the agent's own. Default: none. */
  readonly extensions?: readonly Extension[];
  /**
   * Whether a call that sends data out requires approval if the run has seen untrusted and private content. Default:
   * ask. A rule with `ruleOfTwo: "exempt"` makes an exception.
   */
  readonly ruleOfTwo?: "ask" | "off";
  /** Maximum restarts of a crashed run. Default: 3. */
  readonly maxRestarts?: number;
  /** Seconds for a yielding run to finish its call before it is aborted. Default: 60. */
  readonly yieldTimeoutS?: number;
  /**
   * Seconds for a cancelled run to end by itself. Then its tree ends it, because its worker may be dead. Default: 10.
   */
  readonly cancelGraceS?: number;
  /**
   * Seconds after the end of a tree for which the store keeps the content of its steps, for runs whose retention is not
   * `permanent`. Then the key of the tree is destroyed. The tree itself drops outputs, and content in events, of these
   * runs after at most 30 seconds. Default: 86,400 (one day).
   */
  readonly eraseAfterS?: number;
  /**
   * Whether the store keeps the prompts and responses of steps. `steps`: of model and tool calls, as their retention
   * allows. Default: `steps` if there is a store.
   */
  readonly record?: "off" | "steps";
  /**
   * The retention of runs if neither caller nor agent names one. Default: `permanent` for roots, `run` for children.
   */
  readonly retention?: HistoryRetention;
  /** Limits of every input. Default: 20 files of 20 MB, 40 MB together. */
  readonly input?: InputLimits;
  /**
   * Hints for the model by channel, such as formatting rules. They override the built-in ones for telegram, discord,
   * slack and terminal. Agents with sections show the hint of their request's channel. Default: the built-in ones.
   */
  readonly platforms?: Readonly<Record<string, string>>;
  /** The directory that the footer of system prompts with sections names. Default: none. */
  readonly workingDirectory?: string;
  /** Settings of webhooks: allowed URLs, and number of tries. Default: public URLs over https. */
  readonly webhooks?: WebhookSettings;
  /** Maximum number of schedules. Default: 100 of a user, and 1,000 of a tenant. */
  readonly schedules?: Partial<ScheduleLimits>;
  /**
   * Limits of what waits to be read; more is refused with a BacklogFullError. Default: 1,000 messages and 8 million characters
   * for a run, 1,000 messages and 16 million characters in a topic. One more than 200 open approvals of a run is denied.
   */
  readonly backlogs?: Partial<BacklogLimits>;
  /** Milliseconds in the queue after which a run moves up one level. Default: 60,000. */
  readonly priorityAgingMs?: number;
}
