import {
  CancellationError,
  findJsonProblem,
  HumanQuestion,
  ToolResult,
  type AttemptId,
  type Json,
  type ResumedCall,
  type Risk,
  type Tool,
  type UnfinishedValue,
} from "#kernel";
import { copyJson } from "#base";
import { askForApproval, toToolAnswer } from "./approval.ts";
import type { RunServices } from "./run-services.ts";
import type { StepRecord } from "./step.ts";

const maxQuestions = 20;
const maxWaits = 1_000;
/** Maximum bytes of question and state together, as JSON. */
const maxBytes = 100_000;

/** The record of an execution that does not finish the call. */
export interface UnfinishedCall {
  readonly kind: "unfinished";
  /** The question to a person. Null if `afterS` is set. */
  readonly question: HumanQuestion | null;
  /** Seconds until the next execution. Null: a person is asked. */
  readonly afterS: number | null;
  readonly state: Json;
  readonly attempt: AttemptId;
  /** Whether it passed the gate. If so, its attempt must be settled. */
  readonly gated: boolean;
  readonly risk: Risk;
  /** Set if the next execution may be repeated after its worker dies. */
  readonly rerun?: true;
}

/** The questions and waits of a call so far, and the input of its next execution. */
export interface Resumption {
  readonly resumed: ResumedCall;
  readonly asked: number;
  readonly waited: number;
  /** Whether the execution may be repeated after its worker dies. */
  readonly rerun: boolean;
}

/** The part of the record that the tool decides. */
type UnfinishedState = Pick<UnfinishedCall, "question" | "afterS" | "state" | "rerun">;

/** Reads the returned value of an execution. Returns an error result if it cannot be stored. */
export function readUnfinished(
  tool: string,
  { question: asked, afterS, state, rerun }: UnfinishedValue,
): UnfinishedState | ToolResult {
  const problem = findJsonProblem(asked) ?? findJsonProblem(state);
  if (problem !== null)
    return ToolResult.failure(
      `${tool} returned a question or state that cannot be encoded as JSON: it${problem}`,
    );
  const question = afterS === null ? HumanQuestion.parse(copyJson(asked)) : null;
  if (typeof question === "string")
    return ToolResult.failure(`${tool} returned an invalid question: ${question}`);
  if (afterS !== null && !(Number.isFinite(afterS) && afterS >= 0))
    return ToolResult.failure(`${tool}: afterS must be a number of seconds >= 0, got ${afterS}`);
  const kept: UnfinishedState = {
    question,
    afterS,
    state: copyJson(state),
    ...(rerun && { rerun }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(kept));
  return bytes <= maxBytes
    ? kept
    : ToolResult.failure(
        `the question and state of ${tool} have ${bytes} bytes: at most ${maxBytes} are allowed`,
      );
}

/**
 * Returns the state that an execution has left for the next one. Null: it was the last. If the state is invalid,
 * middleware has seen an error result.
 */
export const readLeft = (left: UnfinishedState | ToolResult | null): UnfinishedState | null =>
  left && "afterS" in left ? left : null;

/** A call whose last execution has not finished it. */
interface GoingCall {
  readonly step: Parameters<typeof askForApproval>[1]["step"];
  readonly tool: Tool;
  readonly callId: string | undefined;
  /** Absent: this was its first execution. */
  readonly before: Resumption | undefined;
}

/** Waits, across restarts, until a call can be executed again. Returns its resumption, or a refusal. */
export async function awaitResumption(
  services: RunServices,
  { step, tool, callId, before }: GoingCall,
  record: UnfinishedCall & StepRecord,
): Promise<Resumption | { readonly refusal: string }> {
  const { driver } = services.engine;
  const { question, afterS, state, attempt, gated, risk, rerun = false } = record;
  if (gated) driver.outbox.settle({ attempt, usage: null });
  const { asked = 0, waited = 0 } = before ?? {};
  if (afterS !== null) {
    if (waited >= maxWaits) return { refusal: `${tool.name} was not finished after ${maxWaits} waits` };
    const at = record.t + afterS * 1000;
    await orCancelled(tool, state, () => driver.waits.first([], { at }));
    return { resumed: { state, answer: null }, asked, waited: waited + 1, rerun };
  }
  if (asked >= maxQuestions)
    return { refusal: `${tool.name} asked ${maxQuestions} questions: no more are allowed` };
  const counted = { asked: asked + 1, waited, rerun };
  if (services.policy.launch.approver === "none") return { resumed: { state, answer: noPerson }, ...counted };
  const why = `${tool.name} asks the user a question`;
  const asking = { step, tool, callId, risk, input: question, why, asks: true } as const;
  const decision = await orCancelled(tool, state, () => askForApproval(services, asking));
  return { resumed: { state, answer: toToolAnswer(decision) }, ...counted };
}

const noPerson = {
  decision: "declined",
  reason: 'this run has no approver to answer; createRuntime({ approver: "human" }) would ask one',
} as const;

/** Waits. If the run is cancelled, notifies the tool. */
async function orCancelled<T>(tool: Tool, state: Json, wait: () => Promise<T>): Promise<T> {
  try {
    return await wait();
  } catch (error) {
    if (error instanceof CancellationError) tellCancelled(tool, state);
    throw error;
  }
}

/**
 * Notifies a tool that its call will not be executed again. Nothing is journaled, because a cancelled run makes no
 * steps: a cancelled replay notifies it again.
 */
export function tellCancelled(tool: Tool, state: Json): void {
  if ("run" in tool) return;
  void Promise.resolve()
    .then(() => tool.cancel?.(state))
    .catch(() => undefined);
}
