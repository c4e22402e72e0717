import { ChatMessage, Ended, type Json, type RunContext } from "#kernel";
import { valueText } from "#base";
import { closeWith, say } from "./say.ts";
import { checkAnswer, OutputForm } from "./structured-output.ts";

/** The number of times that the model may answer again: after answers in a row that did not match the schema, and after blocked ones. */
const maxRepairs = 2;

/** The answers of a turn that were sent back. */
export interface Repairs {
  /** In a row, because they did not match the schema. */
  readonly form: number;
  /** By guardrails. */
  readonly blocked: number;
  /** Because they repeated themselves. */
  readonly repeated: number;
}

/** Constructors of {@link Repairs}. */
export const Repairs = { none: { form: 0, blocked: 0, repeated: 0 } satisfies Repairs } as const;

/** The state of a turn that an answer needs. */
export interface AnswerState {
  readonly ctx: RunContext;
  /** Grows by what the model is told about its answer. */
  readonly messages: ChatMessage[];
  /** Undefined: text. */
  readonly output: OutputForm | undefined;
  repairs: Repairs;
}

/** An answer that is given. */
export interface Answer {
  readonly kind: "answer";
  readonly value: Json;
}

/**
 * Holds an answer against its schema, then against the guardrails. Null: the model is told what is wrong and answers
 * again, in the next cycle of the turn.
 */
export async function settleAnswer(state: AnswerState, text: string): Promise<Answer | Ended | null> {
  const { ctx, output } = state;
  closeWith(state, text);
  const formed = output ? await checkForm(ctx, output, text) : { value: text };
  if ("issues" in formed)
    return repair(state, "form", `That does not match: ${formed.issues}. ${toldAgain(output)}`)
      ? null
      : malformed(text, formed.issues);
  state.repairs = { ...state.repairs, form: 0 };
  const { value } = formed;
  const guarded = ctx.guard("output", valueText(value));
  const decision = guarded && (await guarded);
  if (decision?.kind === "block")
    return repair(
      state,
      "blocked",
      `That answer was not let through: ${decision.reason}. Answer again without it.`,
    )
      ? null
      : stoppedBy("output", decision.reason);
  const isNoted = decision?.kind === "warn" && typeof value === "string";
  return { kind: "answer", value: isNoted ? `${value}\n\nNote: ${decision.reason}.` : value };
}

/** Lets the model answer again that has repeated itself: null. It may do so twice; then the run ends. */
export function repairRepeated(state: AnswerState, reason: string): Ended | null {
  if (!repair(state, "repeated", `You were cut off: ${reason}. Answer again, and say everything once.`))
    return stoppedBy("loop-detection", reason);
  state.ctx.reportLoop("block", reason);
  return null;
}

/** A model that was not told the schema in words is told now: it may have been replaced by one that cannot take it natively. */
function toldAgain(output: OutputForm | undefined): string {
  return output?.native ? OutputForm.instruction(output) : "Answer again with the corrected JSON only.";
}

/** Sends an answer back. False if that was done too often. */
function repair(state: AnswerState, kind: keyof Repairs, told: string): boolean {
  const count = state.repairs[kind];
  if (count === maxRepairs) return false;
  state.repairs = { ...state.repairs, [kind]: count + 1 };
  say(state, ChatMessage.user(told));
  return true;
}

/**
 * Returns the first of some texts that may be the output of a run that a budget stops; null if none may. The turn ends
 * with that text.
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

/** The check is a step: a schema may be code whose outcome differs next time. */
function checkForm(ctx: RunContext, { schema }: OutputForm, text: string): ReturnType<typeof checkAnswer> {
  return ctx.step("output", () => checkAnswer(schema, text), { input: text });
}

/** Lets the guardrails check what a run returns where a budget stopped it. No model can answer again: what is blocked is withheld. */
export async function guardedEnd(ctx: RunContext, ended: Ended): Promise<Ended> {
  if (ended.output === null) return ended;
  const guarded = ctx.guard("output", valueText(ended.output));
  const decision = guarded && (await guarded);
  return decision?.kind === "block" ? stoppedBy("output", decision.reason) : ended;
}

/** The end of a run that a guardrail has stopped. */
export function stoppedBy(what: string, reason: string): Ended {
  const error = { code: "guardrail", guardrail: what, reason, message: `${what}: ${reason}` };
  return Ended.of({ status: "failed", stopReason: "guardrail", output: null, error });
}

/** Characters of a wrong answer that the error shows. */
const maxShown = 2_000;

/** Callers of an agent with a schema never get an output of another type: the error shows the text. */
function malformed(text: string, issues: string): Ended {
  const message = `the answer does not match the output schema, after ${maxRepairs} repairs: ${issues}`;
  const error = { code: "output", message, answer: text.slice(0, maxShown) };
  return Ended.of({ status: "failed", stopReason: "error", output: null, error });
}
