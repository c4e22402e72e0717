import { type ErrorData, RunId } from "#kernel";
import { formatCounted, duration, exactUsd } from "./amounts.ts";
import { clean } from "./clean.ts";
import type { AgentEnd, AgentView } from "../agent-view.ts";
import { asides } from "./asides.ts";
import { failureText, isAboutKey, noSlotText } from "./failure-text.ts";
import { type RunFacts, lostText, type Why } from "./run-facts.ts";
import { denialText, limitText, refusedDimension } from "./limit-text.ts";
import { remedies, startAgain } from "./remedies.ts";
import { reasonText } from "./status-text.ts";

/** Why a run stopped. */
export function whyEnded(known: RunFacts, end: AgentEnd): Why {
  const { run, result } = known;
  const answer = `${run.agent} ${statusWord(end)}: ${reason(known, end)}.`;
  const inDoubt = run.inDoubtMicros > 0 ? `, ${exactUsd(run.inDoubtMicros)} of it in doubt` : "";
  const bill = `It took ${duration(end.durationMs)}, made ${formatCounted(run.own.calls, "model call")} and cost ${exactUsd(run.costMicros)} with its children${inDoubt}.`;
  const details = [bill, ...explainLanding(run, end), ...words(end.error, answer), ...asides(run)];
  if (run.lostCalls > 0) details.push(lostText(run.lostCalls));
  if (result?.erased)
    details.push("Its content is erased: its retention is over, and the key of its tree was destroyed.");
  return { answer, details, hints: hintsOf(known, end) };
}

const statusWord = ({ status, stopReason }: AgentEnd): string =>
  status !== "cancelled" ? status : stopReason === "cancelled" ? "was cancelled" : "was stopped";

function reason(known: RunFacts, end: AgentEnd): string {
  const { run, parent } = known;
  switch (end.stopReason) {
    case "answer":
      return "it answered";
    case "budget.cost":
      return limitText(known, "cost");
    case "budget.tokens":
      return limitText(known, "tokens");
    case "budget.turns":
      return limitText(known, "turns");
    case "budget.agents":
      return noSlotText(end.error);
    case "deadline":
      return `its deadline passed after ${duration(end.durationMs)}${explainWait(known)}`;
    case "cancelled":
      return run.cancelReason === null ? "no reason given" : `reason "${clean(run.cancelReason)}"`;
    case "parent-ended":
      return `its parent${parent ? `, ${parent.agent},` : ""} ended first${parentEnd(parent)}`;
    case "guardrail":
      return run.guardrail
        ? `the guardrail ${clean(run.guardrail.guardrail)} tripped (${clean(run.guardrail.reason)})`
        : "a guardrail tripped";
    case "terminated":
      return "middleware stopped it";
    case "error":
      return failureText(end.error, end.diagnostic);
    case "exhausted":
      return "it found no answer within its limits";
  }
}

/** The money that a call waited for when the deadline passed. */
function explainWait({ run: { denial }, parent }: RunFacts): string {
  return denial?.reason === "wait-timed-out" ? ` while a call waited: ${denialText(denial, parent)}` : "";
}

function parentEnd(parent: AgentView | null): string {
  return parent?.end ? ` (${parent.end.status}: ${reasonText(parent.end.stopReason)})` : "";
}

function explainLanding({ own, denial }: AgentView, { status }: AgentEnd): readonly string[] {
  if (status !== "landed") return [];
  if (denial?.reason === "exceeded") return ["It landed with its last text, without another call."];
  if (own.calls === 0) return ["It landed before its first call, so it has no output."];
  return ["It landed: a last call without tools returned the work so far."];
}

/** Returns the message of an error, unless the answer contains it already. */
function words(error: ErrorData | null, said: string): readonly string[] {
  if (error?.code === "budget-exhausted") return [];
  const message = error?.message === undefined ? "" : clean(error.message);
  return message === "" || said.includes(message) ? [] : [message];
}

function hintsOf(known: RunFacts, { stopReason, error }: AgentEnd): readonly string[] {
  const { run, parent } = known;
  const tree = RunId.tree(run.runId);
  const refused = refusedDimension(run);
  const remedy = refused ? remedies(known, refused) : [];
  // The parent decides about the end of a child.
  if (parent) return [...remedy, `reeve why ${parent.runId}`];
  const again = startAgain(run);
  switch (stopReason) {
    case "answer":
    case "exhausted":
    case "parent-ended":
      return [`reeve tree ${tree}`];
    case "budget.cost":
    case "budget.tokens":
    case "budget.turns":
      return remedy;
    case "budget.agents":
      return [`${again} --max-agents <more>`];
    case "deadline":
      return refused ? remedy : [`${again} --deadline <more seconds>`];
    case "guardrail":
    case "terminated":
      return [`reeve tree ${tree}`, again];
    case "error":
      if (isAboutKey(error)) return ["set the key where the worker runs; `reeve dev` reads .env", again];
      return error?.code === "key-destroyed" ? [`reeve tree ${tree}`] : [again];
    case "cancelled":
      return [again];
  }
}
