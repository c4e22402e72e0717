import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ErrorData } from "./errors.ts";
import type { AgentSpec } from "./agent-spec.ts";
import type { RunId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ChatMessage } from "./message.ts";
import type { Model } from "./model.ts";
import type { ChildHandle, RunContext, SpawnOptions } from "./run-context.ts";
import type { RunScope } from "./run-meta.ts";
import type { Tool } from "./tool.ts";
import type { Usage } from "./usage.ts";

/** The state of a turn that an architecture leads. It may change every field that is not read-only. */
export interface StrategyState {
  readonly id: RunId;
  /** The agent's instructions, if they are a text. */
  readonly instructions: string;
  /**
   * The input of the turn, and messages that the architecture adds for itself. They are not sent to a model
   * automatically.
   */
  messages: readonly ChatMessage[];
  /** Calls of `think` and `react` so far. */
  turns: number;
  /** The best answer so far. Set it as soon as there is one: it is the answer of a run that has to stop. Null: none yet. */
  output: Json;
  /** Tokens of `think` so far. */
  cumulativeUsage: Usage;
  /** Set it when the rounds, plans or hops are over without a final answer: the run lands with `output`. */
  interrupted: boolean;
  /** The reason, for people. */
  interruptionReason: string | null;
  metadata: JsonObject;
}

/** The outcome of a delegation. A worker that fails is an outcome, not an error. */
export type Delivery<Answer = Json> =
  | {
      readonly ok: true;
      readonly worker: AgentSpec<Answer>;
      readonly text: string;
      /** The worker's own schema has checked it. */
      readonly value: Answer;
    }
  | {
      readonly ok: false;
      readonly worker: AgentSpec<Answer>;
      readonly reason: string;
      readonly error?: ErrorData | undefined;
    };

/** Limits and options of a delegation. They can only narrow those of the leader. */
export interface DelegateOptions extends Omit<SpawnOptions, "detached"> {
  /** Maximum wait for the answer, in seconds. Default: 600. */
  readonly timeoutS?: number;
  /** Called with the worker's run once it is spawned, for example to cancel it later. Default: not called. */
  readonly onSpawn?: (worker: ChildHandle) => void;
}

/** Options of an architecture that runs inside another one. */
export interface InlineOptions {
  /** The data that it works on, in place of the text of the prompt. It is `metadata.input` of its state. */
  readonly input?: Json;
  /** Function that delegates to workers. Default: that of the enclosing architecture. */
  readonly delegate?: StrategyDeps["delegate"];
}

/** The form of a model call of the leader's own. */
export interface ThinkOptions<Answer = string> {
  /** The schema of the answer. Default: text. */
  readonly schema?: StandardSchemaV1<unknown, Answer>;
  /** Default: the agent's instructions. */
  readonly instructions?: string;
  /** Whether the conversation before this turn is sent. Default: false. */
  readonly history?: boolean;
}

/**
 * The functions and facts that an architecture gets. Each call of `ctx` is a step, passes the gate and records events.
 */
export interface StrategyDeps {
  readonly ctx: RunContext;
  /** The leader's model. Null: it has none. */
  readonly model: Model | null;
  /** The leader's tools, including those of the architecture. */
  readonly tools: readonly Tool[];
  readonly scope: RunScope | null;
  /** The limit of the leader's own turns. Null: none. */
  readonly maxTurns: number | null;
  /**
   * Spawns a worker and waits for its answer. If no slot is free, the spawn waits in the queue. @throws
   * CancellationError, and BudgetExhaustedError if an account above the worker is used up.
   */
  readonly delegate: <Answer>(
    worker: AgentSpec<Answer>,
    task: string,
    options?: DelegateOptions,
  ) => Promise<Delivery<Answer>>;
  /** Makes one model call. With a schema, one answer that does not match is sent back. @throws OutputError */
  readonly think: <Answer = string>(prompt: string, options?: ThinkOptions<Answer>) => Promise<Answer>;
  /** Lets the leader's model work with its tools until it has an answer, as an agent without an architecture does. */
  readonly react: (prompt: string) => Promise<string>;
  /** Lets another architecture lead in this run, without a slot of its own. Returns its output. */
  readonly inline: (architecture: Architecture, prompt: string, options?: InlineOptions) => Promise<Json>;
  /** Creates the state of an architecture that begins now. */
  readonly freshSession: (prompt: string) => StrategyState;
}

/**
 * A strategy to lead a team. `run` sets `state.output` as soon as it has one, and yields progress for display. It
 * awaits only `ctx` and `deps`, so that it can be replayed after a crash.
 */
export interface Architecture {
  readonly name: string;
  /** Workers by role; none if the leader works alone. */
  declaredWorkers(): Readonly<Record<string, AgentSpec<unknown>>>;
  /** Whether the leader's own model is called. Default: false. */
  readonly needsModel?: boolean | undefined;
  /** Its parts, in order, for diagrams. Default: its workers. */
  readonly steps?:
    | readonly (AgentSpec<unknown> | Architecture | ((...given: never[]) => unknown))[]
    | undefined;
  /** Tools that the leader has in addition to its own. Default: none. */
  readonly tools?: readonly Tool[] | undefined;
  /**
   * Tools that only the architecture's code calls, with `ctx.tool`. Models do not see them and cannot call them.
   * Default: none.
   */
  readonly privateTools?: readonly Tool[] | undefined;
  run(state: StrategyState, deps: StrategyDeps, prompt: string): AsyncGenerator<Json, void, void>;
}
