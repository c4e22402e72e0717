import type { Compaction, CompactionRequest } from "./compaction.ts";
import type { Envelope } from "./envelope.ts";
import type { Continuation } from "./ended.ts";
import type { ErrorData } from "./errors.ts";
import type { AgentEventType, EventPayloads } from "./event.ts";
import type { GuardrailDecision } from "./guardrail-decision.ts";
import type { AgentSpec } from "./agent-spec.ts";
import type { AgentId, EntryId, MessageId, RunId, TopicId } from "./ids.ts";
import type { Input } from "./input.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { ChatMessage } from "./message.ts";
import type { Model, ModelResponse, ModelSettings, ToolChoice, ToolDescription } from "./model.ts";
import type { PermissionRule } from "./permission.ts";
import type { ShownSection } from "./prompt-section.ts";
import type { RunMeta } from "./run-meta.ts";
import type { RunResult, RunStatus } from "./run-status.ts";
import type { ExecutionBudget, HistoryRetention, Priority, Supervision } from "./supervision.ts";
import type { ToolResult } from "./tool-result.ts";

/** A child, as its parent holds it. Plain data: it may be kept in a continuation. */
export interface ChildHandle<Output = Json> {
  /** For the compiler only: never there at run time. */
  readonly "~types"?: { readonly output: Output } | undefined;
  readonly runId: RunId;
  readonly agentId: AgentId;
  /**
   * The message that the child was spawned with. Null: none. An `ask` with the same content only waits for its reply.
   */
  readonly firstMessage: MessageId | null;
}

/** Options of a spawn. */
export interface SpawnOptions {
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** Limits that narrow the parent's. Default: the agent's, else none of its own. */
  readonly budget?: ExecutionBudget;
  /** Default: the agent's, else run. */
  readonly retention?: HistoryRetention;
  /** With no slot free: refuse the spawn, or queue it. Default: deny. */
  readonly onFull?: "deny" | "wait";
  /** Rules that narrow the parent's, for the child and its descendants. Default: the parent's. */
  readonly permissions?: readonly PermissionRule[];
  /** Whether the child continues when this run ends. The root then adopts it. Default: false. */
  readonly detached?: boolean;
}

/** Options of a copy of the agent. */
export interface CopyOptions {
  /** The tools that it may call; a call of another gives an error result. Its requests list all of them. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Whether the copy is shown this run's conversation: as of the beginning of this turn, or after the turn if it is
   * saved. Such a copy has no ephemeral state and makes no compaction. Default: false.
   */
  readonly history?: boolean | undefined;
}

/** Options of a question. */
export interface AskOptions extends SpawnOptions {
  /**
   * Timeout in seconds. Required: no work on a question takes forever. Time in which neither the asked run nor a run below
   * it can make progress does not count: it waits for a person, a switch, money or a slot, or no worker runs.
   */
  readonly timeoutS: number;
  /** Reaction to a pause of the child: keep waiting, or return with `paused`. Default: wait. */
  readonly onPause?: "wait" | "return";
}

/** The reply to a question. */
export interface AskReply<Output = Json> {
  readonly kind: "replied";
  readonly text: string;
  /** The output of an agent that has an output schema; else the data of the reply, or its text if it has none. */
  readonly data: Output;
  readonly handle: ChildHandle<Output>;
}

/** The outcome of a question. `text` and `data` exist on a reply only. */
export type AskOutcome<Output = Json> =
  | AskReply<Output>
  | { readonly kind: "timedOut"; readonly handle: ChildHandle<Output> }
  | { readonly kind: "failed"; readonly handle: ChildHandle<Output>; readonly error: ErrorData | null }
  | {
      readonly kind: "cancelled" | "endedWithoutReply";
      readonly handle: ChildHandle<Output>;
      readonly result: RunResult<Output>;
    }
  | { readonly kind: "paused"; readonly handle: ChildHandle<Output>; readonly textSoFar: string | null };

/** The outcome of waiting for a child. A paused one can still be joined later. */
export type JoinOutcome<Output = Json> =
  | RunResult<Output>
  | {
      readonly status: "paused";
      readonly handle: ChildHandle<Output>;
      /**
       * The last text of its model, up to 4,000 characters. Null: none yet, or output guardrails have not checked it.
       */
      readonly textSoFar: string | null;
    };

/** The sections that computed instructions may show. */
export interface InstructionsCall {
  /** Reads the agent's sections, in the order of their places. The run carries their labels from then on. */
  readSections(): Promise<readonly ShownSection[]>;
}

/** Options of a model call. */
export interface LlmOptions {
  /** Default: the agent's. */
  readonly model?: Model;
  readonly tools?: readonly ToolDescription[];
  /** Default: the model's own limit. */
  readonly maxOutputTokens?: number;
  /** The least output that is worth a call: with less, the call is refused. Default: 16. */
  readonly minOutputTokens?: number;
  /** Whether a model without a known price may be called under a cost budget. Default: refuse. */
  readonly unpriced?: "refuse" | "allow";
  /** Whether parts without a known size bound, such as images, may be sent under a hard limit. Default: refuse. */
  readonly unbounded?: "refuse" | "allow";
  /** Whether it is a final call without tools, which may draw on the landing slice. Default: false. */
  readonly landing?: boolean;
  /** Settings that override those of the model. */
  readonly settings?: ModelSettings;
  /** Default: auto. */
  readonly toolChoice?: ToolChoice;
  /**
   * JSON Schema of the answer. It is sent to a model that takes it natively. For other models, put it into the prompt.
   */
  readonly outputSchema?: JsonObject;
  /** Provider options, by provider. They override those of the model. */
  readonly providerOptions?: JsonObject;
  /**
   * Computes the system message, which comes before `messages`, inside the step: the response has the text, and a replay
   * sees the same. Default: none.
   */
  readonly instructions?: (call: InstructionsCall) => Promise<string> | string;
  /**
   * Whether the conversation before this turn is sent, after the system message and before `messages`. It is read
   * inside the step. Default: false.
   */
  readonly history?: boolean;
  /**
   * Rule that cuts off a repetitive answer: when its last `characters` repeat one block at least `times` times.
   * Default: never.
   */
  readonly repetition?: { readonly characters: number; readonly times: number } | undefined;
}

/** A run's part in its conversation. Without a store, or with a retention below `permanent`, nothing is written. */
export interface RunConversation {
  /** Adds a message to the turn. It stays in memory and is written with the next step that passes the gate. */
  append(message: ChatMessage): void;
  /**
   * Ends the turn: all added messages become part of the conversation, in one step. Returns the newest entry of the
   * conversation. Null if none is kept.
   */
  save(): Promise<EntryId | null>;
  /** Whether later turns may follow in a stored conversation. True only for the root. The same on every replay. */
  goesOn(): boolean;
  /**
   * Reads the messages before this turn in one step, and returns the result of `select`. A replay returns the same. The
   * run carries their labels from then on. Without a conversation, `select` gets an empty list.
   */
  read(select: (before: readonly ChatMessage[]) => readonly ChatMessage[]): Promise<readonly ChatMessage[]>;
  /** Asks for a compaction after this turn. */
  compact(): void;
  /**
   * Summarizes the oldest part of the conversation in one step, charged to the run. Null: nothing changed, because
   * there is nothing to summarize, the budget refuses it, or it failed.
   */
  runCompaction(request: CompactionRequest): Promise<Compaction | null>;
  /**
   * Whether a review of the conversation is due: `every` turns were saved since the last one, including this one. If
   * so, marks it as made. Always false for a conversation that is not stored.
   */
  takeReview(every: number): Promise<boolean>;
}

/** Options of a tool call. */
export interface ToolOptions {
  /** The model's id for the call. Default: the step's. */
  readonly callId?: string;
}

/** The stages that guardrails check, in addition to tool calls. */
export type GuardedMoment = "turn" | "input" | "output";

/** Retry rules of a step for transient errors. */
export interface StepRetry {
  /** Default: 3. */
  readonly maxRetries?: number;
  /** Milliseconds before the first retry, doubled before each further one. Default: 2,000. */
  readonly baseMs?: number;
}

/** Options of a step. */
export interface StepOptions {
  /** The data that the step depends on. A different value on replay is a divergence. Default: the name alone. */
  readonly input?: Json;
  readonly retry?: StepRetry;
  /** Labels that the result adds to the run. Default: none. */
  readonly labels?: Partial<Labels>;
}

/** The argument of a step's closure. It has no run context: a step has side effects outside, never on the run. */
export interface StepCall {
  readonly signal: AbortSignal;
  /** The same for every execution of this step. */
  readonly idempotencyKey: string;
}

/** A subscription of a run to a topic: each message once, in order per sender. */
export interface Subscription extends AsyncIterable<Envelope> {
  /** Begins the subscription before the first message is read. Once it resolves, no later message is missed. */
  begin(): Promise<void>;
}

/**
 * The only interface through which a run has side effects. Every call is a step: its result is journaled, and after a
 * crash the run resumes after it. Every call first checks for cancellation, deadline and pause.
 */
export interface RunContext {
  readonly meta: RunMeta;
  readonly supervision: Supervision;

  /** Makes one model call: reserves, calls, settles. @throws BudgetExhaustedError when no account allows it. */
  llm(messages: readonly ChatMessage[], options?: LlmOptions): Promise<ModelResponse>;
  /** Makes one tool call. A tool that fails, or that may not run, gives an error result. */
  tool(name: string, input: Json, options?: ToolOptions): Promise<ToolResult>;
  /**
   * Runs the guardrails at the beginning of a turn, on input for the model, or on its answer. Null if none applies.
   * `agent()` calls it; custom agents may. @throws GuardrailHalt
   */
  checkGuardrails(moment: GuardedMoment, text: string): Promise<GuardrailDecision> | null;
  /**
   * Runs the extensions' handlers that may change the text of an input, in a step of its own. Null if there are none.
   * `agent()` calls it; custom agents may.
   */
  interceptInput(text: string): Promise<string> | null;
  /** Reports calls that repeat themselves, as a `guardrail.trip` of `loop-detection` with the next call to the tree. */
  reportLoop(decision: "warn" | "block", reason: string): void;
  /** The conversation that the run takes part in. */
  readonly session: RunConversation;
  /** Labels of the content that the run has seen so far. */
  readonly labels: Labels;
  /** Runs any other code with side effects or a nondeterministic result, as a step. */
  step<T extends Json | void>(
    name: string,
    run: (call: StepCall) => Promise<T> | T,
    options?: StepOptions,
  ): Promise<T>;

  /** Spawns a child and does not wait. @throws BudgetExhaustedError when no slot is available. */
  spawn<Output, Task extends Input = Input>(
    agent: AgentSpec<Output, Task>,
    task: NoInfer<Task> | null,
    options?: SpawnOptions,
  ): Promise<ChildHandle<Output>>;
  /** Spawns a copy of this agent. Its prompts begin like those of this run. Its content is not stored. */
  spawnChild(task: Input, options?: CopyOptions): Promise<ChildHandle>;
  /** Waits until a run has ended. */
  join<Output>(
    handle: ChildHandle<Output>,
    options?: { readonly onPause?: "wait" },
  ): Promise<RunResult<Output>>;
  join<Output>(
    handle: ChildHandle<Output>,
    options: { readonly onPause: "return" },
  ): Promise<JoinOutcome<Output>>;
  /** Sends a question and waits for its reply. With an agent: spawns it first. */
  ask<Output, Task extends Input = Input>(
    target: AgentSpec<Output, Task> | ChildHandle<Output>,
    input: NoInfer<Task>,
    options: AskOptions,
  ): Promise<AskOutcome<Output>>;
  /** Sends a question and returns the reply. @throws AskFailedError on any other outcome. */
  askOrThrow<Output, Task extends Input = Input>(
    target: AgentSpec<Output, Task> | ChildHandle<Output>,
    input: NoInfer<Task>,
    options: AskOptions,
  ): Promise<AskReply<Output>>;
  /** Answers a question, or the task that the run was spawned with. Does nothing for other messages. */
  reply(message: Envelope, text: string, data?: Json): Promise<void>;
  /**
   * Sends a message to a run, or to an agent of this tree: its oldest live run, else a new one. @throws BacklogFullError if
   * the run has too many unread messages.
   */
  send(to: RunId | AgentId | ChildHandle, input: Input, data?: Json): Promise<void>;
  /**
   * Publishes data to a topic, by default the tree's progress. It is recorded in the tree's stream and reaches all
   * subscribers. @throws BacklogFullError if a subscriber has too many unread messages: then no one gets it.
   */
  emit(data: Json, topic?: TopicId): Promise<void>;
  /**
   * Subscribes to a topic, from `begin` or the first `next` on. Breaking out of the loop ends the subscription. If it
   * is open when the run continues in a fresh execution, the first `subscribe` to the same topic there resumes it: no
   * message is missed.
   */
  subscribe(topic: TopicId): Subscription;

  /**
   * Appends an event of agent code to the tree's stream, with the next call to the tree; nothing waits for it.
   * @throws TypeError for an event that only the runtime writes, TooLargeError for a payload over 256 kB.
   */
  record<Type extends AgentEventType>(type: Type, payload: EventPayloads[Type]): void;

  /** Waits until a moment, in milliseconds since 1970. Survives restarts. @throws RangeError for an invalid moment. */
  sleepUntil(at: number): Promise<void>;
  /** Waits for a signal from outside. An earlier signal is not lost. Null after `timeoutS`, if given. */
  waitFor(signal: string, options?: { readonly timeoutS?: number }): Promise<Json>;
  /** Returns the time, the same on every replay. */
  now(): Promise<number>;
  /** Returns a number from 0 to below 1, the same on every replay. */
  random(): number;
  /** Returns a UUID, the same on every replay. */
  uuid(): string;

  /** Checks for cancellation and deadline. @throws CancellationError */
  check(): void;
  /** Returns the status of another run of this tree. */
  status(run: RunId | ChildHandle): Promise<RunStatus>;
  /** Cancels a run and its descendants. */
  cancel(run: RunId | ChildHandle, reason: string): Promise<void>;
  /**
   * Ends this execution and continues in a fresh one with `state` and an empty journal. The agent must return its
   * result.
   */
  continueAs(state: Json): Continuation;
  /** The state passed to the last `continueAs`. Null on the first execution. */
  readonly state: Json;
  /**
   * Number of steps of this execution. A crash replays all of them, so a run with thousands should `continueAs`
   * regularly. Above 50,000 the run is stopped.
   */
  readonly steps: number;
  /** Number of journal entries of this execution: steps, calls, waits and timers. A crash replays all of them. */
  readonly journalLength: number;
}
