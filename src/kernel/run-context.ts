import type { Compaction, CompactionRequest } from "./compaction.ts";
import type { Envelope } from "./envelope.ts";
import type { Continuation } from "./ended.ts";
import type { ErrorData } from "./errors.ts";
import type { AgentEventType, EventPayloads } from "./event.ts";
import type { GuardrailDecision } from "./guardrail-decision.ts";
import type { Hireable } from "./hireable.ts";
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

/** A child, as the run that spawned it holds it. Plain data: may be kept in a continuation. */
export interface ChildHandle<Output = Json> {
  /** For the compiler only: never there at run time. */
  readonly "~types"?: { readonly output: Output } | undefined;
  readonly runId: RunId;
  readonly agentId: AgentId;
  /** The message that the helper was hired with, if it was: an `ask` of the same words only waits for its reply. */
  readonly boot: MessageId | null;
}

/** How a helper is hired. */
export interface SpawnOptions {
  /** Default: the agent's, else normal. */
  readonly priority?: Priority;
  /** Narrower limits than the hiring run's. Default: the agent's, else none of its own. */
  readonly budget?: ExecutionBudget;
  /** Default: the agent's, else run. */
  readonly retention?: HistoryRetention;
  /** With no slot free: be refused, or stand in line. Default deny. */
  readonly onFull?: "deny" | "wait";
  /** Narrower rules than the hiring run's, for the helper and all below it. Default: the same. */
  readonly permissions?: readonly PermissionRule[];
  /** Does the helper live on when this run ends? The root then adopts it. Default false. */
  readonly detached?: boolean;
}

/** How a copy of an agent is spawned. */
export interface CopyOptions {
  /** The tools that it may call; a call of another gives an error result. Its requests list all of them. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Whether it is shown the conversation of this run, as it stood when this turn began, or after the turn if that is saved.
   * Such a copy has no ephemeral state and makes no compaction. Default false.
   */
  readonly history?: boolean | undefined;
}

/** How to wait for a reply. */
export interface AskOptions extends SpawnOptions {
  /** Seconds. Always given: nobody waits for ever. */
  readonly timeoutS: number;
  /** A pause of the helper: wait through it, or return with `paused`. Default wait. */
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
      /** The last words of its model, up to 4,000 characters; null: none yet, or output guardrails would have to see them. */
      readonly textSoFar: string | null;
    };

/** The sections that computed instructions may show. */
export interface InstructionsCall {
  /** Reads the agent's sections, in the order of their places. The run has their labels from then on. */
  readSections(): Promise<readonly ShownSection[]>;
}

/** How to call a model. */
export interface LlmOptions {
  /** Default: the agent's. */
  readonly model?: Model;
  readonly tools?: readonly ToolDescription[];
  /** Default: the model's own limit. */
  readonly maxOutputTokens?: number;
  /** The least output worth paying for: below it the call is refused. Default 16. */
  readonly minOutputTokens?: number;
  /** Call a model without a known price under a cost budget? Default refuse. */
  readonly unpriced?: "refuse" | "allow";
  /** Send parts whose size nobody can bound, such as images, under a hard limit? Default refuse. */
  readonly unbounded?: "refuse" | "allow";
  /** A final call without tools: it may draw on the landing slice. Default false. */
  readonly landing?: boolean;
  /** Laid over those of the model. */
  readonly settings?: ModelSettings;
  /** Default: auto. */
  readonly toolChoice?: ToolChoice;
  /** The JSON Schema of the answer. Sent to a model that takes it natively; others must be told in the prompt. */
  readonly outputSchema?: JsonObject;
  /** Options that only the provider understands, by provider: laid over those of the model. */
  readonly providerOptions?: JsonObject;
  /**
   * Computes the system message, which comes before `messages`, inside the step: the response has the text, and a replay
   * sees the same. Default: none.
   */
  readonly instructions?: (call: InstructionsCall) => Promise<string> | string;
  /**
   * Whether the conversation before this turn is sent, after the system message and before `messages`. It is read inside
   * the step. Default false.
   */
  readonly history?: boolean;
  /**
   * When an answer that repeats itself is cut off: where its last `characters` are one block at least `times` times.
   * Default: never.
   */
  readonly repetition?: { readonly characters: number; readonly times: number } | undefined;
}

/** A run's part in its conversation. Without a store, or with a retention below permanent, nothing is written. */
export interface RunConversation {
  /** Adds a message to the turn. It waits in memory, and is written with the next step that passes the gate. */
  append(message: ChatMessage): void;
  /**
   * Ends the turn: everything that was added becomes part of the conversation, in one step. Returns the newest entry of
   * the conversation; null if none is kept.
   */
  save(): Promise<EntryId | null>;
  /** Whether later turns may follow in a conversation that is kept. Only the root has one. It is the same on every replay. */
  goesOn(): boolean;
  /**
   * Reads the messages before this turn in one step, and returns what `select` makes of them: on a replay, the same. The run
   * has their labels from then on. Without a conversation `select` is given none.
   */
  read(select: (before: readonly ChatMessage[]) => readonly ChatMessage[]): Promise<readonly ChatMessage[]>;
  /** Asks for a compaction after this turn. */
  compact(): void;
  /**
   * Has the oldest part of the conversation summed up, in one step, at the run's expense. Null: nothing has changed, because
   * there is nothing to sum up, the budget refuses it, or it failed.
   */
  runCompaction(request: CompactionRequest): Promise<Compaction | null>;
  /**
   * Whether a review of the conversation is due: `every` turns were saved since the last one, this one included. Then it
   * counts as made. Always false for a conversation that is not kept.
   */
  takeReview(every: number): Promise<boolean>;
}

/** How to call a tool. */
export interface ToolOptions {
  /** The model's own name for the call. Default: the step's. */
  readonly callId?: string;
}

/** What guardrails look at besides tool calls. */
export type GuardedMoment = "turn" | "input" | "output";

/** How a step is retried when it fails with an error that may pass. */
export interface StepRetry {
  /** Default 3. */
  readonly maxRetries?: number;
  /** Milliseconds before the first retry, doubled before each further one. Default 2,000. */
  readonly baseMs?: number;
}

/** How a step is run. */
export interface StepOptions {
  /** What the step depends on: on replay, another value here is a loud divergence. Default: the name alone. */
  readonly input?: Json;
  readonly retry?: StepRetry;
  /** What it brings into the run. Default: nothing untrusted, nothing private. */
  readonly labels?: Partial<Labels>;
}

/** What a step's closure is given. It has no run context: a step touches the world, never the run. */
export interface StepCall {
  readonly signal: AbortSignal;
  /** The same for every execution of this step. */
  readonly idempotencyKey: string;
}

/** A subscription of a run to a topic: the messages of the topic, each once, those of one sender in order. */
export interface Subscription extends AsyncIterable<Envelope> {
  /** Begins the subscription before the first message is read. Once it resolves, no later message is missed. */
  begin(): Promise<void>;
}

/**
 * The only way a run touches the world. Every call is a step: its result is journaled, and after a crash the run
 * goes on behind it. Every call first looks whether the run is cancelled, past its deadline or paused.
 */
export interface RunContext {
  readonly meta: RunMeta;
  readonly supervision: Supervision;

  /** One model call: reserved, made, settled. @throws BudgetExhaustedError when no account allows it. */
  llm(messages: readonly ChatMessage[], options?: LlmOptions): Promise<ModelResponse>;
  /** One tool call. A tool that fails gives an error result; a tool that may not run, too. */
  tool(name: string, input: Json, options?: ToolOptions): Promise<ToolResult>;
  /**
   * Lets the guardrails look at the beginning of a turn, at what is said to the model, or at what it answers; null where
   * none wants to. `agent()` does it; an agent of your own may. @throws GuardrailHalt
   */
  guard(moment: GuardedMoment, text: string): Promise<GuardrailDecision> | null;
  /**
   * Lets the extensions change the text of an input, in a step of its own; null where none wants to. `agent()` does it; an
   * agent of your own may.
   */
  interceptInput(text: string): Promise<string> | null;
  /** Reports calls that repeat themselves, as a `guardrail.trip` of `loop-detection` with the next call to the tree. */
  reportLoop(decision: "warn" | "block", reason: string): void;
  /** The conversation that the run takes part in. */
  readonly session: RunConversation;
  /** What the run has seen so far. */
  readonly labels: Labels;
  /** Anything else that touches the world, or whose outcome may differ next time. */
  step<T extends Json | void>(
    name: string,
    run: (call: StepCall) => Promise<T> | T,
    options?: StepOptions,
  ): Promise<T>;

  /** Spawns a child and does not wait. @throws BudgetExhaustedError when no slot can be had. */
  spawn<Output, Task extends Input = Input>(
    agent: Hireable<Output, Task>,
    task: NoInfer<Task> | null,
    options?: SpawnOptions,
  ): Promise<ChildHandle<Output>>;
  /** Spawns a copy of this agent. Its prompts begin like those of this run, and nothing it says is kept. */
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
    target: Hireable<Output, Task> | ChildHandle<Output>,
    input: NoInfer<Task>,
    options: AskOptions,
  ): Promise<AskOutcome<Output>>;
  /** The reply, or an AskFailedError. */
  askOrThrow<Output, Task extends Input = Input>(
    target: Hireable<Output, Task> | ChildHandle<Output>,
    input: NoInfer<Task>,
    options: AskOptions,
  ): Promise<AskReply<Output>>;
  /** Answers a question, or the task that the run was hired with; on any other message it does nothing. */
  reply(message: Envelope, text: string, data?: Json): Promise<void>;
  /** Sends a message to a run, or to an agent of this tree: its oldest live run, else a new one. */
  send(to: RunId | AgentId | ChildHandle, input: Input, data?: Json): Promise<void>;
  /** Tells a topic, by default the tree's progress. It is in the tree's stream, and reaches all subscribers. */
  emit(data: Json, topic?: TopicId): Promise<void>;
  /**
   * Subscribes to a topic, from `begin` or the first `next` on. Breaking out of the loop ends the subscription. If it is open
   * when the run continues in a fresh execution, the first `subscribe` to the same topic there goes on with it: no message is
   * missed.
   */
  subscribe(topic: TopicId): Subscription;

  /**
   * Appends an event of agent code to the tree's stream, with the next call to the tree; nothing waits for it.
   * @throws TypeError for an event that only the runtime writes, TooLargeError for a payload over 256 kB.
   */
  record<Type extends AgentEventType>(type: Type, payload: EventPayloads[Type]): void;

  /** Waits until a moment, in milliseconds since 1970. Survives restarts. @throws RangeError on what is no moment. */
  sleepUntil(at: number): Promise<void>;
  /** Waits for a signal from outside; one that came before is not lost. Null after `timeoutS`, if given. */
  waitFor(signal: string, options?: { readonly timeoutS?: number }): Promise<Json>;
  /** The time, the same on every replay. */
  now(): Promise<number>;
  /** From 0 to below 1, the same on every replay. */
  random(): number;
  /** The same on every replay. */
  uuid(): string;

  /** Passes, or throws CancellationError: cancelled, or past the deadline. */
  check(): void;
  /** Where another run of this tree stands. */
  status(run: RunId | ChildHandle): Promise<RunStatus>;
  /** Stops a run and everything below it. */
  cancel(run: RunId | ChildHandle, reason: string): Promise<void>;
  /** Ends this execution and goes on in a fresh one with `state` and an empty journal. Return what it returns. */
  continueAs(state: Json): Continuation;
  /** What the last `continueAs` passed; null on the first execution. */
  readonly state: Json;
  /**
   * Steps this execution has made. After a crash all of them are replayed: a run that makes thousands should now and
   * then `continueAs`. Above 50,000 it is stopped.
   */
  readonly steps: number;
  /** How many entries the journal of this execution has: steps, calls, waits and timers. All are replayed after a crash. */
  readonly journalLength: number;
}
