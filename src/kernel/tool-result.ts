import type { HumanQuestion } from "./human-question.ts";
import type { Json } from "./json.ts";
import { ContentBlock } from "./message.ts";

/** The result of a tool call. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** The value the tool returned, for code. Absent on an error. */
  readonly value?: Json | undefined;
  /**
   * Set if the turn may end with this result. If every result of the batch has it, the turn ends without another model
   * call, and their text is the answer.
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
  /** The question to a person that comes first. Null: none. */
  readonly question: HumanQuestion | null;
  /** The seconds that pass first. Null: a person is asked. */
  readonly afterS: number | null;
  readonly state: unknown;
  readonly rerun: boolean;
  readonly [unfinishedMark]: true;
}

const unknownMark: unique symbol = Symbol.for("reeve.unknown-outcome");

/** The end of a call that may or may not have happened: the tool cannot tell. */
interface UnknownOutcome {
  /** Shown to the model. Null: none. */
  readonly reason: string | null;
  readonly [unknownMark]: true;
}

/** Options of the next execution. */
interface NextExecution {
  /**
   * Whether the next execution may be repeated if its worker dies, although the tool is not idempotent. Suits an
   * execution that only polls. Default: false, so its outcome is then unknown.
   */
  readonly rerun?: boolean;
}

const isMarked = (value: unknown, by: symbol): boolean =>
  typeof value === "object" && value !== null && by in value;

/** Constructors of {@link ToolResult}. */
export const ToolResult = {
  /** Creates the result of a successful call, in the form the model is shown. */
  of: (value: Json | undefined): ToolResult => ({
    content: [ContentBlock.text(typeof value === "string" ? value : JSON.stringify(value ?? null))],
    isError: false,
    value: value ?? null,
  }),
  /** Creates the result of a failed call, in the form the model is shown. */
  failure: (message: string): ToolResult => ({ content: [ContentBlock.text(message)], isError: true }),
  /**
   * Marks the value as the answer of the turn. Returned by `execute` and `run`. It takes effect, without another model
   * call, if all calls of its batch do so.
   */
  terminate: (value: unknown): TerminatingValue => ({ value, [mark]: true }),
  /** Whether a tool has returned a value of `terminate`. JSON of the same shape is an ordinary value. */
  isTerminating: (value: unknown): value is TerminatingValue => isMarked(value, mark),
  /**
   * Gives the model this content, such as text and files, instead of the value as JSON. Returned by `execute` and
   * `run`. Default of the value: null.
   */
  show: (
    content: readonly ContentBlock[],
    { value = null, isError = false }: { readonly value?: unknown; readonly isError?: boolean } = {},
  ): ShownValue => ({ content, isError, value, [shownMark]: true }),
  /** Whether a tool has returned a value of `show`. */
  isShown: (value: unknown): value is ShownValue => isMarked(value, shownMark),
  /**
   * Asks a person. Returned by `execute`. The question survives restarts and expires after the runtime's
   * `approvalExpiresS`. It is an approval record, and only a fitting answer counts. Then `execute` is called again, by
   * any process, with this state and the answer in `call.resumed`. A call may ask 20 times.
   */
  ask: (question: HumanQuestion, state: unknown = null, options: NextExecution = {}): UnfinishedValue => ({
    question,
    afterS: null,
    state,
    rerun: options.rerun ?? false,
    [unfinishedMark]: true,
  }),
  /**
   * Suspends the call. Returned by `execute`. After `afterS` seconds, in which no process has to live, `execute` is
   * called again with this state in `call.resumed`. A call may do so 1,000 times.
   */
  later: (afterS: number, state: unknown = null, options: NextExecution = {}): UnfinishedValue => ({
    question: null,
    afterS,
    state,
    rerun: options.rerun ?? false,
    [unfinishedMark]: true,
  }),
  /**
   * Ends a call that was sent and not answered: it may or may not have happened. Returned by `execute`. The model is
   * told so, or a person decides if the tool has `onUnknown: "ask"`. Nothing repeats the call by itself. The reason is
   * for the model.
   */
  unknownOutcome: (reason?: string): UnknownOutcome => ({ reason: reason ?? null, [unknownMark]: true }),
  /** Whether a tool has returned a value of `unknownOutcome`. */
  isUnknownOutcome: (value: unknown): value is UnknownOutcome => isMarked(value, unknownMark),
  /** Whether a tool has returned a value of `ask` or `later`. */
  isUnfinished: (value: unknown): value is UnfinishedValue => isMarked(value, unfinishedMark),
} as const;
