import type { Envelope } from "./envelope.ts";
import type { ErrorData } from "./errors.ts";
import type { EventPayloads, EventType } from "./event.ts";
import type { GuardrailDecision } from "./guardrail-decision.ts";
import type { Hireable } from "./hireable.ts";
import type { AgentId, MessageId, RunId, TopicId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { ChatMessage } from "./message.ts";
import type { Model, ModelResponse, ToolDescription } from "./model.ts";
import type { Usage } from "./money.ts";
import type { PermissionRule } from "./permission.ts";
import type { RunMeta } from "./run-meta.ts";
import type { EndStatus, RunResult, RunStatus, StopReason } from "./run-status.ts";
import type { ExecutionBudget, HistoryRetention, Priority, Supervision } from "./supervision.ts";
import type { ToolResult } from "./tool-result.ts";

/** A helper, as the run that hired it holds it. Plain data: may be kept in a continuation. */
export interface ChildHandle {
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

/** How to wait for a reply. */
export interface AskOptions extends SpawnOptions {
  /** Seconds. Always given: nobody waits for ever. */
  readonly timeoutS: number;
  /** A pause of the helper: wait through it, or return with `paused`. Default wait. */
  readonly onPause?: "wait" | "return";
}

/** What came of a question. `text` exists on a reply only. */
export type AskOutcome =
  | {
      readonly kind: "replied";
      readonly text: string;
      readonly data?: Json | undefined;
      readonly handle: ChildHandle;
    }
  | { readonly kind: "timedOut"; readonly handle: ChildHandle }
  | { readonly kind: "failed"; readonly handle: ChildHandle; readonly error: ErrorData | null }
  | { readonly kind: "cancelled"; readonly handle: ChildHandle; readonly result: RunResult }
  | { readonly kind: "endedWithoutReply"; readonly handle: ChildHandle; readonly result: RunResult }
  | { readonly kind: "paused"; readonly handle: ChildHandle };

/** What came of a helper. A paused one can still be joined later. */
export type JoinOutcome = RunResult | { readonly status: "paused"; readonly handle: ChildHandle };

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
  /** What a provider told, in an execution before, of the first so many of these messages with the same tools. */
  readonly reported?: { readonly messages: number; readonly usage: Usage } | undefined;
  readonly providerOptions?: JsonObject;
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
  /** What the run has seen so far. */
  readonly labels: Labels;
  /** Anything else that touches the world, or whose outcome may differ next time. */
  step<T extends Json | void>(
    name: string,
    run: (call: StepCall) => Promise<T> | T,
    options?: StepOptions,
  ): Promise<T>;

  /** Hires a helper and does not wait. @throws BudgetExhaustedError when no slot can be had. */
  spawn(agent: Hireable, task: string | null, options?: SpawnOptions): Promise<ChildHandle>;
  /** Hires a copy of this agent that may call only the tools named. Nothing it says is kept. */
  spawnChild(task: string, options?: { readonly tools?: readonly string[] }): Promise<ChildHandle>;
  /** Waits until a run has ended. */
  join(handle: ChildHandle, options?: { readonly onPause?: "wait" }): Promise<RunResult>;
  join(handle: ChildHandle, options: { readonly onPause: "return" }): Promise<JoinOutcome>;
  /** Sends a question and waits for its reply. With an agent: hires it first. */
  ask(target: Hireable | ChildHandle, text: string, options: AskOptions): Promise<AskOutcome>;
  /** The reply, or an AskFailedError. */
  askOrThrow(
    target: Hireable | ChildHandle,
    text: string,
    options: AskOptions,
  ): Promise<Extract<AskOutcome, { readonly kind: "replied" }>>;
  /** Answers a question, or the task that the run was hired with; on any other message it does nothing. */
  reply(message: Envelope, text: string, data?: Json): Promise<void>;
  /** Sends a message to a run, or to an agent of this tree: its oldest live run, else a new one. */
  send(to: RunId | AgentId | ChildHandle, text: string, data?: Json): Promise<void>;
  /** Tells a topic, by default the tree's progress. It is in the tree's stream, and with all who follow. */
  emit(data: Json, topic?: TopicId): Promise<void>;
  /** What is told to a topic from now on. Breaking out of the loop ends it. */
  follow(topic: TopicId): AsyncIterable<Envelope>;

  /** Puts an event at this place of the tree's stream. It goes with the next call; nothing waits for it. */
  note<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void;

  /** Waits until a moment, in milliseconds since 1970. Survives restarts. */
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
}

/** How a run ends otherwise than by an answer or an error: for example landed, with what it has. */
export interface Ended {
  readonly kind: "ended";
  readonly status: EndStatus;
  readonly stopReason: StopReason;
  readonly output: Json;
  readonly error?: ErrorData | undefined;
}

/** The mark of a run that goes on in a fresh execution. */
export interface Continuation {
  readonly kind: "continue-as";
  readonly state: Json;
}
