import type {
  Architecture,
  ChatMessage,
  Ended,
  Inbox,
  InstructionsCall,
  Model,
  RunContext,
  Tool,
  ToolChoice,
} from "#kernel";
import type { LoopDetection } from "../guardrails/loop-detection.ts";
import type { Answer, Repairs } from "./answer.ts";
import type { CallOptions } from "./landing.ts";
import type { ReviewOptions } from "./review.ts";
import type { OutputForm } from "./structured-output.ts";

/** The architecture of an agent, with what it needs of the agent. */
export interface Lead {
  readonly architecture: Architecture;
  /** The agent's name and instructions, if these are a text. */
  readonly name: string;
  readonly instructions: string;
  /** The limit of the agent's turns; null: none. */
  readonly maxTurns: number | null;
}

/** What a turn works with. It reads and writes `messages`; nothing is copied. */
export interface TurnState {
  readonly ctx: RunContext;
  readonly inbox: Inbox;
  readonly model: Model;
  readonly tools: readonly Tool[];
  /** The system message and what was said since: in this turn, or in all turns of a run that keeps no conversation. Grows. */
  readonly messages: ChatMessage[];
  /** Undefined: text. */
  readonly output: OutputForm | undefined;
  /** The options that go with every call. */
  readonly request: CallOptions;
  /** For the first call of a turn; `none` for all. */
  readonly toolChoice: ToolChoice | undefined;
  /** When a copy of the agent looks back at the conversation; undefined: never. */
  readonly review: ReviewOptions | undefined;
  /** Computes the system message in the first call of a turn; undefined: it does not change. */
  readonly instructions: ((input: string, call: InstructionsCall) => Promise<string>) | undefined;
  readonly loops: LoopDetection;
  readonly maxOutputTokens: number | undefined;
  /** The architecture that leads its turns; undefined: the ordinary loop does. */
  readonly lead: Lead | undefined;
  /** Steps after which the run should go on in a fresh execution. */
  readonly continueAfter: number;
  /** Model calls made so far. */
  cycles: number;
  repairs: Repairs;
  /** The text of the input, until the first call of the turn is made. */
  begins: string | null;
  /** The summary that stands for the turn's first messages; null: the turn has all of them. */
  summary: string | null;
}

/** The outcome of a turn: an answer, the way the run must end, or not yet: it goes on in a fresh execution. */
export type TurnOutcome = Answer | { readonly kind: "unfinished" } | Ended;
