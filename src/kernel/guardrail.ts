import type { GuardrailDecision } from "./guardrail-decision.ts";
import type { AgentId, RunId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { StepScope } from "./middleware.ts";
import type { Model } from "./model.ts";
import type { Risk } from "./permission.ts";
import type { ToolResult } from "./tool-result.ts";

/** What a guardrail has at hand. Its model calls are charged to the run. */
export interface GuardrailScope extends StepScope {
  readonly agentId: AgentId;
  readonly runId: RunId;
  /** What it has noted in this turn, in order. */
  readonly notes: readonly Json[];
  /** A word that nobody can guess, fresh for every call. */
  readonly nonce: string;
}

/** Words on their way to the model, or from it to whoever asked. */
interface GuardedText {
  readonly text: string;
}

/** A tool call. The arguments are those that will be executed. */
export interface GuardedCall {
  readonly tool: string;
  readonly risk: Risk;
  readonly input: Json;
  /** What the tool says of its results. */
  readonly brings: Labels;
}

/** A tool call, and what came of it. */
export interface GuardedResult extends GuardedCall {
  readonly result: ToolResult;
}

type Said = GuardrailDecision | Promise<GuardrailDecision>;

/**
 * Looks at what goes in and out. Runs only when it really happens, never on replay, so it may touch the world. One that
 * throws, is late or says nothing clear has blocked, except around a safe tool: there it is recorded and passed over.
 */
export interface Guardrail {
  readonly name: string;
  /** How long one look may take. Default 30. */
  readonly timeoutS?: number | undefined;
  /** Models that it may ask: their prices are pinned when a tree opens. Default: none. */
  readonly models?: readonly Model[] | undefined;
  onTurnStart?(turn: GuardedText, scope: GuardrailScope): Said;
  /** Every message for the model. Blocked: there is no model yet that could be told, so the run ends. */
  onInput?(input: GuardedText, scope: GuardrailScope): Said;
  beforeCall?(call: GuardedCall, scope: GuardrailScope): Said;
  afterCall?(call: GuardedResult, scope: GuardrailScope): Said;
  /** Every answer. Blocked: the model may answer again, twice; then the run ends. */
  onOutput?(output: GuardedText, scope: GuardrailScope): Said;
}
