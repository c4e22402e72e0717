import type { GuardrailDecision } from "./guardrail-decision.ts";
import type { AgentId, RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { StepScope } from "./middleware.ts";
import type { Model } from "./model.ts";
import type { Risk } from "./permission.ts";
import type { ToolResult } from "./tool-result.ts";

/** The facilities of a guardrail. Its model calls are charged to the run. */
export interface GuardrailScope extends StepScope {
  readonly agentId: AgentId;
  readonly runId: RunId;
  /** The guardrail's notes in this turn, in order. */
  readonly notes: readonly Json[];
  /** An unguessable token, fresh for every call. */
  readonly nonce: string;
}

/** A message on its way to the model, or an answer on its way to the caller. */
interface GuardedText {
  readonly text: string;
}

/** A tool call. The arguments are those that will be executed. */
export interface GuardedCall {
  readonly tool: string;
  readonly risk: Risk;
  readonly input: Json;
  /** The labels of the tool's results. */
  readonly brings: Labels;
}

/** A tool call and its result. */
export interface GuardedResult extends GuardedCall {
  readonly result: ToolResult;
}

type MaybeAsyncDecision = GuardrailDecision | Promise<GuardrailDecision>;

/**
 * A check of a run's input, output and tool calls. It runs only for real execution, never on replay, so it may have
 * side effects. One that throws, times out or returns no decision counts as `block`. Exception: around a safe tool the
 * failure is recorded and ignored.
 */
export interface Guardrail {
  readonly name: string;
  /** Timeout of one check, in seconds. Default: 30. */
  readonly timeoutS?: number | undefined;
  /** Models that the guardrail may call. Their prices are pinned when a tree opens. Default: none. */
  readonly models?: readonly Model[] | undefined;
  onTurnStart?(turn: GuardedText, scope: GuardrailScope): MaybeAsyncDecision;
  /** Checks every message for the model. `block` ends the run, because no model exists yet that could react. */
  onInput?(input: GuardedText, scope: GuardrailScope): MaybeAsyncDecision;
  beforeCall?(call: GuardedCall, scope: GuardrailScope): MaybeAsyncDecision;
  afterCall?(call: GuardedResult, scope: GuardrailScope): MaybeAsyncDecision;
  /** Checks every answer. On `block` the model may answer again, twice. Then the run ends. */
  onOutput?(output: GuardedText, scope: GuardrailScope): MaybeAsyncDecision;
}
