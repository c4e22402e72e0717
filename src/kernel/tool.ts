import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json } from "./json.ts";
import type { ToolFlow } from "./labels.ts";
import type { ChatMessage } from "./message.ts";
import type { Model, ModelResponse } from "./model.ts";
import type { Risk } from "./permission.ts";
import type { RunContext } from "./run-context.ts";
import type { RunMemory } from "./run-memory.ts";

/** The fields of every tool. */
interface ToolBase<Input> extends ToolFlow {
  readonly name: string;
  readonly description: string;
  /**
   * Any Standard Schema. The tool gets a frozen copy of its output, which must be JSON. Permissions, guardrails and
   * approvers see the same value, even after a restart. Dates and class instances are refused as bad input.
   */
  readonly input: StandardSchemaV1<unknown, Input>;
  readonly risk: Risk;
}

/** The outcome of a tool's question to a person. */
export type ToolAnswer =
  /** The content fits the question. */
  | { readonly decision: "answered"; readonly content: Json }
  /** Expired: no person answered in time. The reason is a text for the model. */
  | { readonly decision: "declined" | "expired"; readonly reason: string };

/** The state that an earlier execution of a call has left by `ToolResult.ask` or `ToolResult.later`. */
export interface ResumedCall {
  readonly state: Json;
  /** The answer to the question of `ask`; null after `later`. */
  readonly answer: ToolAnswer | null;
}

/** The argument of an effect. It has no run context, because the effect is one step. */
export interface EffectCall {
  readonly signal: AbortSignal;
  /** The same for every delivery of this call, so that the other side can apply it once. */
  readonly idempotencyKey: string;
  /** The value of a `traceparent` header, so that the other side's spans come below this call's. */
  readonly traceparent: string;
  /**
   * Publishes progress to live observers: any JSON, up to 4,096 bytes. At most ten updates a second are sent: the
   * newest ones. Nothing is stored. Never throws, never waits.
   */
  readonly update: (progress: unknown) => void;
  /** The memory that the run can reach. Null: this worker has no store. */
  readonly memory: RunMemory | null;
  /** The state that an earlier execution of this call has left. Null: this is the first one. */
  readonly resumed: ResumedCall | null;
  /** Calls a model inside this step: through the gate, and charged to the run. Default model: the agent's. */
  readonly llm: (
    messages: readonly ChatMessage[],
    options?: { readonly model?: Model; readonly maxOutputTokens?: number },
  ) => Promise<ModelResponse>;
}

/** A tool with side effects: one step. */
export interface EffectTool<Input = unknown> extends ToolBase<Input> {
  /**
   * Executes the tool. Returns anything that JSON can hold, or a promise of it: dates become ISO text, undefined
   * becomes null. A value of `ToolResult.terminate` is the answer of the turn; of `ToolResult.show`, content for the
   * model; of `ToolResult.ask` or `ToolResult.later`, the end of an execution that is followed by another one; of
   * `ToolResult.unknownOutcome`, the end of a call that may have happened.
   */
  execute(input: Input, call: EffectCall): unknown;
  /**
   * Cancels a call that is suspended by `ToolResult.ask` or `ToolResult.later`, given its state, so that the other side
   * can stop too. Called when the run is cancelled. It may be called more than once, and is not called if no worker
   * executes the run any more. Nothing waits for it, and its failure changes nothing. Default: nothing is called.
   */
  cancel?(state: Json): unknown;
  /** Whether a call may be repeated with the same key. Default: false. */
  readonly idempotent?: boolean;
  /**
   * Reaction to a call whose outcome is unknown: report it to the model, run it again, or ask a person. Default:
   * report. Ignored if `idempotent`.
   */
  readonly onUnknown?: "report" | "rerun" | "ask";
  /** Default: 600. */
  readonly timeoutS?: number;
}

/** A tool that is agent code: its `ctx` calls are steps, so it may spawn, wait and ask. */
export interface RunTool<Input = unknown> extends ToolBase<Input> {
  /** Runs the tool. Returns the same kinds of values as `execute`. */
  run(ctx: RunContext, input: Input): unknown;
}

/** A tool of either kind. */
export type Tool<Input = unknown> = EffectTool<Input> | RunTool<Input>;
