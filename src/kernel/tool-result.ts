import type { HumanQuestion } from "./human-question.ts";
import type { Json } from "./json.ts";
import { ContentBlock } from "./message.ts";

/** What a tool call came to. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** The value the tool returned, for code; absent on an error. */
  readonly value?: Json | undefined;
  /**
   * Set where the turn may end with this result. It ends, without another model call, if every result of the batch is
   * set so: their text is the answer.
   */
  readonly terminate?: true | undefined;
}

const mark: unique symbol = Symbol.for("reeve.terminating-value");

/** A value of a tool that the turn may end with. */
interface TerminatingValue {
  readonly value: unknown;
  readonly [mark]: true;
}

const shownMark: unique symbol = Symbol.for("reeve.shown-value");

/** A value of a tool, together with the content that the model is shown in its place. */
export interface ShownValue extends Pick<ToolResult, "content" | "isError"> {
  readonly value: unknown;
  readonly [shownMark]: true;
}

const unfinishedMark: unique symbol = Symbol.for("reeve.unfinished-call");

/** The end of one execution of a tool call that is not over: it is executed again, with the state. */
export interface UnfinishedValue {
  /** The question to a person that comes first; null: none. */
  readonly question: HumanQuestion | null;
  /** The seconds that pass first; null: a person is asked. */
  readonly afterS: number | null;
  readonly state: unknown;
  readonly rerun: boolean;
  readonly [unfinishedMark]: true;
}

/** Terms of the execution that follows. */
interface NextExecution {
  /**
   * Whether it may be made again if its worker dies, although the tool is not idempotent: it only asks how far the call
   * has come. Default false: its outcome is unknown then.
   */
  readonly rerun?: boolean;
}

const isMarked = (value: unknown, by: symbol): boolean =>
  typeof value === "object" && value !== null && by in value;

/** Constructors of {@link ToolResult}. */
export const ToolResult = {
  /** What a tool returned, as the model is shown it. */
  of: (value: Json | undefined): ToolResult => ({
    content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
    isError: false,
    value: value ?? null,
  }),
  /** What went wrong, as the model is shown it. */
  failure: (message: string): ToolResult => ({ content: [ContentBlock.text(message)], isError: true }),
  /**
   * For `execute` and `run` to return: the value is the answer of the turn, without another model call, if all calls of
   * its batch return theirs so.
   */
  terminate: (value: unknown): TerminatingValue => ({ value, [mark]: true }),
  /** Whether a tool has returned a value of `terminate`. JSON that only looks like one is a value like any other. */
  isTerminating: (value: unknown): value is TerminatingValue => isMarked(value, mark),
  /**
   * For `execute` and `run` to return: the model is shown this content, such as text and files, instead of the value as
   * JSON. Default of the value: null.
   */
  show: (
    content: readonly ContentBlock[],
    { value = null, isError = false }: { readonly value?: unknown; readonly isError?: boolean } = {},
  ): ShownValue => ({ content, isError, value, [shownMark]: true }),
  /** Whether a tool has returned a value of `show`. */
  isShown: (value: unknown): value is ShownValue => isMarked(value, shownMark),
  /**
   * For `execute` to return: a person is asked, through every restart and for as long as the runtime's `approvalExpiresS`. The
   * question is an approval record, and only an answer that fits it counts. Then `execute` is called again, by any process,
   * and finds this state and the answer in `call.resumed`. A call may ask 20 times.
   */
  ask: (question: HumanQuestion, state: unknown = null, options: NextExecution = {}): UnfinishedValue => ({
    question,
    afterS: null,
    state,
    rerun: options.rerun ?? false,
    [unfinishedMark]: true,
  }),
  /**
   * For `execute` to return: the call is not over. After so many seconds, in which no process has to live, `execute` is
   * called again and finds this state in `call.resumed`. A call may do so 1,000 times.
   */
  later: (afterS: number, state: unknown = null, options: NextExecution = {}): UnfinishedValue => ({
    question: null,
    afterS,
    state,
    rerun: options.rerun ?? false,
    [unfinishedMark]: true,
  }),
  /** Whether a tool has returned a value of `ask` or `later`. */
  isUnfinished: (value: unknown): value is UnfinishedValue => isMarked(value, unfinishedMark),
} as const;
