import type {
  Architecture,
  ChatMessage,
  Ended,
  Inbox,
  InstructionsCall,
  Json,
  Model,
  RunContext,
  Tool,
  ToolChoice,
} from "#kernel";
import type { Handoff } from "../handoffs/handoff.ts";
import type { LoopDetection } from "../guardrails/loop-detection.ts";
import type { Answer, Repairs } from "./answer.ts";
import type { CallOptions } from "./landing.ts";
import type { ReviewOptions } from "./review.ts";
import type { OutputForm } from "./structured-output.ts";

/** The architecture of an agent, with the agent's facts that it needs. */
export interface Lead {
  readonly architecture: Architecture;
  /** The agent's name and instructions, if these are a text. */
  readonly name: string;
  readonly instructions: string;
  /** The limit of the agent's turns. Null: none. */
  readonly maxTurns: number | null;
}

/** The state of a turn. `messages` is shared, not copied. */
export interface TurnState {
  readonly ctx: RunContext;
  readonly inbox: Inbox;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /**
   * The system message and the messages since: of this turn, or of all turns of a run without a stored conversation.
   * Grows.
   */
  readonly messages: ChatMessage[];
  /** Undefined: text. */
  readonly output: OutputForm | undefined;
  /** The options of every call. */
  readonly request: CallOptions;
  /** For the first call of a turn; `none` for all. */
  readonly toolChoice: ToolChoice | undefined;
  /** Options of reviews. Undefined: never. */
  readonly review: ReviewOptions | undefined;
  /** Computes the system message in the first call of a turn. Undefined: it is constant. */
  readonly instructions: ((input: string, call: InstructionsCall) => Promise<string>) | undefined;
  readonly loops: LoopDetection;
  readonly maxOutputTokens: number | undefined;
  /** The architecture that leads its turns. Undefined: the ordinary loop. */
  readonly lead: Lead | undefined;
  /** Number of steps after which the run should continue in a fresh execution. */
  readonly continueAfter: number;
  /** Number of model calls so far. */
  cycles: number;
  repairs: Repairs;
  /** The text of the input, until the first call of the turn is made. */
  begins: string | null;
  /** The summary that replaces the turn's first messages. Null: the turn has all of them. */
  summary: string | null;
}

/** A turn that continues with another agent. */
export interface HandoffOutcome {
  readonly kind: "handoff";
  readonly handoff: Handoff;
  /** The model's input, after its schema. */
  readonly input: Json;
  /** The model's text with the handoff. Empty: none. */
  readonly said: string;
}

/**
 * The outcome of a turn: an answer, a handoff, the end of the run, or unfinished: it continues in a fresh execution.
 */
export type TurnOutcome = Answer | HandoffOutcome | { readonly kind: "unfinished" } | Ended;
