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
/** Bytes of question and state together, as JSON. */
const maxBytes = 100_000;

/** The record of an execution after which the call goes on. */
export interface UnfinishedCall {
  readonly kind: "unfinished";
  /** The question to a person; null where `afterS` is set. */
  readonly question: HumanQuestion | null;
  /** The seconds until the next execution; null: a person is asked. */
  readonly afterS: number | null;
  readonly state: Json;
  readonly attempt: AttemptId;
  /** Whether it passed the gate, whose account of open attempts it leaves. */
  readonly gated: boolean;
  readonly risk: Risk;
  /** Set where the next execution may be made again if its worker dies. */
  readonly rerun?: true;
}

/** The questions and waits of a call so far, and what its next execution is given. */
export interface Resumption {
  readonly resumed: ResumedCall;
  readonly asked: number;
  readonly waited: number;
  /** Whether the execution may be made again if its worker dies. */
  readonly rerun: boolean;
}

/** The part of the record that the tool decides. */
type UnfinishedState = Pick<UnfinishedCall, "question" | "afterS" | "state" | "rerun">;

/** Reads what an execution has returned. Returns an error result if it cannot be kept. */
export function readUnfinished(
  tool: string,
  { question: asked, afterS, state, rerun }: UnfinishedValue,
): UnfinishedState | ToolResult {
  const problem = findJsonProblem(asked) ?? findJsonProblem(state);
  if (problem !== null)
    return ToolResult.failure(`${tool} asked for something that cannot be encoded as JSON: it${problem}`);
  const question = afterS === null ? HumanQuestion.parse(copyJson(asked)) : null;
  if (typeof question === "string") return ToolResult.failure(`${tool} asked no question: ${question}`);
  if (afterS !== null && !(Number.isFinite(afterS) && afterS >= 0))
    return ToolResult.failure(`${tool} wants to be called again after ${afterS} seconds: that is no time`);
  const kept: UnfinishedState = {
    question,
    afterS,
    state: copyJson(state),
    ...(rerun && { rerun }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(kept));
  return bytes <= maxBytes
    ? kept
    : ToolResult.failure(`${tool} asked with ${bytes} bytes, and ${maxBytes} are the most`);
}

/** The state that an execution has left for the next one; null: it was the last. Middleware has seen an error result. */
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

/** Waits, through every restart, until a call can be executed again. Returns what it is given then, or a refusal. */
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
    if (waited >= maxWaits) return { refusal: `${tool.name} was not over after ${maxWaits} waits` };
    const at = record.t + afterS * 1000;
    await orCancelled(tool, state, () => driver.waits.first([], { at }));
    return { resumed: { state, answer: null }, asked, waited: waited + 1, rerun };
  }
  if (asked >= maxQuestions) return { refusal: `${tool.name} asked ${maxQuestions} questions` };
  const counted = { asked: asked + 1, waited, rerun };
  if (services.policy.launch.approver === "none") return { resumed: { state, answer: noPerson }, ...counted };
  const why = `${tool.name} is a question to a person`;
  const asking = { step, tool, callId, risk, input: question, why, asks: true } as const;
  const decision = await orCancelled(tool, state, () => askForApproval(services, asking));
  return { resumed: { state, answer: toToolAnswer(decision) }, ...counted };
}

const noPerson = {
  decision: "declined",
  reason: 'no person is here to answer; createRuntime({ approver: "people" }) would ask one',
} as const;

/** Waits; if the run is cancelled, the tool is told. */
async function orCancelled<T>(tool: Tool, state: Json, wait: () => Promise<T>): Promise<T> {
  try {
    return await wait();
  } catch (error) {
    if (error instanceof CancellationError) tellCancelled(tool, state);
    throw error;
  }
}

/**
 * Tells a tool that its call will not be executed again. Nothing is journaled, because a cancelled run makes no steps:
 * a replay that is cancelled tells it again.
 */
export function tellCancelled(tool: Tool, state: Json): void {
  if ("run" in tool) return;
  void Promise.resolve()
    .then(() => tool.cancel?.(state))
    .catch(() => undefined);
}
