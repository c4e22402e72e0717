import { ChatMessage, Ended, type Json, type RunContext } from "#kernel";
import { valueText } from "#base";
import { closeWith, appendMessage } from "./say.ts";
import { checkAnswer, OutputForm } from "./structured-output.ts";

/**
 * Maximum number of times that the model may answer again: after consecutive answers that did not match the schema, and
 * after blocked ones.
 */
const maxRepairs = 2;

/** The numbers of answers of a turn that were sent back. */
export interface Repairs {
  /** Consecutive ones that did not match the schema. */
  readonly form: number;
  /** Answers blocked by guardrails. */
  readonly blocked: number;
  /** Answers cut off because of repetition. */
  readonly repeated: number;
}

/** Constructors of {@link Repairs}. */
export const Repairs = { none: { form: 0, blocked: 0, repeated: 0 } satisfies Repairs } as const;

/** The state of a turn that an answer needs. */
export interface AnswerState {
  readonly ctx: RunContext;
  /** Grows by messages to the model about its answer. */
  readonly messages: ChatMessage[];
  /** Undefined: text. */
  readonly output: OutputForm | undefined;
  repairs: Repairs;
}

/** A final answer. */
export interface Answer {
  readonly kind: "answer";
  readonly value: Json;
}

/**
 * Checks an answer against its schema, then with the guardrails. Null: the model gets the problem and answers again, in
 * the next cycle of the turn.
 */
export async function settleAnswer(state: AnswerState, text: string): Promise<Answer | Ended | null> {
  const { ctx, output } = state;
  closeWith(state, text);
  const formed = output ? await checkForm(ctx, output, text) : { value: text };
  if ("issues" in formed)
    return repair(state, "form", `That does not match: ${formed.issues}. ${toldAgain(output)}`)
      ? null
      : endMalformed(text, formed.issues);
  state.repairs = { ...state.repairs, form: 0 };
  const { value } = formed;
  const guarded = ctx.checkGuardrails("output", valueText(value));
  const decision = guarded && (await guarded);
  if (decision?.kind === "block")
    return repair(state, "blocked", `That answer was blocked: ${decision.reason}. Answer again without it.`)
      ? null
      : stoppedBy("output", decision.reason);
  const isNoted = decision?.kind === "warn" && typeof value === "string";
  return { kind: "answer", value: isNoted ? `${value}\n\nNote: ${decision.reason}.` : value };
}

/** Lets a model that has repeated itself answer again: null. It may do so twice. Then the run ends. */
export function repairRepeated(state: AnswerState, reason: string): Ended | null {
  if (!repair(state, "repeated", `Your answer was stopped: ${reason}. Answer again without repetitions.`))
    return stoppedBy("loop-detection", reason);
  state.ctx.reportLoop("block", reason);
  return null;
}

/**
 * Returns the instruction for a new answer. It includes a schema that the prompt did not state: the model may have been
 * replaced by one that cannot take it natively.
 */
function toldAgain(output: OutputForm | undefined): string {
  return output?.native ? OutputForm.instruction(output) : "Answer again with the corrected JSON only.";
}

/** Sends an answer back. Returns false if that was done too often. */
function repair(state: AnswerState, kind: keyof Repairs, told: string): boolean {
  const count = state.repairs[kind];
  if (count === maxRepairs) return false;
  state.repairs = { ...state.repairs, [kind]: count + 1 };
  appendMessage(state, ChatMessage.user(told));
  return true;
}

/**
 * Returns the first text that may be the output of a run that a budget stops. Null if none may. The turn ends with that
 * text.
 */
export async function partialAnswer(
  state: Pick<AnswerState, "ctx" | "messages" | "output">,
  texts: readonly string[],
): Promise<{ readonly value: Json } | null> {
  const { ctx, output } = state;
  for (const text of texts) {
    if (text === "") continue;
    const checked = output ? await checkForm(ctx, output, text) : { value: text };
    if ("issues" in checked) continue;
    closeWith(state, text);
    return checked;
  }
  return null;
}

/** Checks the form of an answer. The check is a step, because a schema may be nondeterministic code. */
function checkForm(ctx: RunContext, { schema }: OutputForm, text: string): ReturnType<typeof checkAnswer> {
  return ctx.step("output", () => checkAnswer(schema, text), { input: text });
}

/**
 * Runs the guardrails on the output of a run that a budget stopped. No model can answer again, so blocked output is
 * withheld.
 */
export async function checkEnd(ctx: RunContext, ended: Ended): Promise<Ended> {
  if (ended.output === null) return ended;
  const guarded = ctx.checkGuardrails("output", valueText(ended.output));
  const decision = guarded && (await guarded);
  return decision?.kind === "block" ? stoppedBy("output", decision.reason) : ended;
}

/** Returns the end of a run that a guardrail has stopped. */
export function stoppedBy(what: string, reason: string): Ended {
  const error = { code: "guardrail", guardrail: what, reason, message: `${what}: ${reason}` };
  return Ended.of({ status: "failed", stopReason: "guardrail", output: null, error });
}

/** Maximum characters of a wrong answer that the error shows. */
const maxShown = 2_000;

/**
 * Returns the end of a run whose answer does not match its schema. Callers never get an output of another type: the
 * error shows the text.
 */
function endMalformed(text: string, issues: string): Ended {
  const message = `the answer does not match the output schema, after ${maxRepairs} repairs: ${issues}`;
  const error = { code: "output", message, answer: text.slice(0, maxShown) };
  return Ended.of({ status: "failed", stopReason: "error", output: null, error });
}
