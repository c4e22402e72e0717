import { type BudgetDimension, type ErrorData } from "#kernel";
import { count, counted, duration, exactUsd, usd } from "../text/amounts.ts";
import { clean } from "../text/width.ts";
import type { Denial, RunEnd, RunView } from "../tree/run-view.ts";
import { type Known, lostText, type Why } from "./known.ts";
import { reasonText } from "./status-text.ts";

/** Why a run stopped. */
export function whyEnded(known: Known, end: RunEnd): Why {
  const { run, result } = known;
  const answer = `${run.agent} ${statusWord(end)}: ${reason(known, end)}.`;
  const bill = `It took ${duration(end.durationMs)}, ${counted(run.own.calls, "call")} of its own and ${exactUsd(end.spend)} with all it hired.`;
  const details = [bill, ...landing(end), ...words(end.error, answer)];
  if (run.lostCalls > 0) details.push(lostText(run.lostCalls));
  if (result?.erased)
    details.push("Its words are gone: its retention is over, and the key of its tree was destroyed.");
  return { answer, details, hints: hintsOf(run, end) };
}

const statusWord = ({ status }: RunEnd): string => (status === "cancelled" ? "was stopped" : status);

function reason(known: Known, end: RunEnd): string {
  const { run, boss } = known;
  switch (end.stopReason) {
    case "answer":
      return "it has answered";
    case "budget.cost":
      return limitMet(known, "cost");
    case "budget.tokens":
      return limitMet(known, "tokens");
    case "budget.turns":
      return limitMet(known, "turns");
    case "budget.agents":
      return noSlot(end.error);
    case "deadline":
      return `its deadline passed after ${duration(end.durationMs)}`;
    case "cancelled":
      return `somebody cancelled it (${clean(run.cancelReason ?? "no reason was given")})`;
    case "parent-ended":
      return `its boss${boss ? `, ${boss.agent},` : ""} ended first${bossEnd(boss)}`;
    case "guardrail":
      return run.guardrail
        ? `the guardrail ${clean(run.guardrail.guardrail)} tripped (${clean(run.guardrail.reason)})`
        : "a guardrail tripped";
    case "terminated":
      return "a middleware stopped it";
    case "error":
      return failure(end.error);
    case "dead-letter":
      return "a message to it could not be delivered, and it was given up";
    case "exhausted":
      return "it ran out of what it may do";
  }
}

function bossEnd(boss: RunView | null): string {
  return boss?.end ? ` (${boss.end.status}: ${reasonText(boss.end.stopReason)})` : "";
}

function limitMet({ run, ledger }: Known, dimension: BudgetDimension): string {
  const denial =
    run.denial?.dimension === dimension
      ? run.denial
      : run.warnings.findLast((w) => w.dimension === dimension);
  if (!denial) return `its ${dimension} budget does not allow another call`;
  const treeLimit =
    dimension === "cost" ? ledger?.tree.maxCost : dimension === "tokens" ? ledger?.tree.maxTokens : null;
  const whose = treeLimit === denial.limit ? "the tree's" : "its";
  return `${whose} limit is ${amount(denial, denial.limit)}, ${amount(denial, denial.used)} ${dimension === "turns" ? "were" : "was"} used or reserved, and the next call does not fit`;
}

function amount({ dimension }: Denial, value: number): string {
  switch (dimension) {
    case "cost":
      return usd(value);
    case "tokens":
      return `${count(value)} tokens`;
    case "turns":
      return counted(value, "call");
    case "agents":
      return counted(value, "agent");
  }
}

const denials: Readonly<Record<string, string>> = {
  full: "it did not want to wait for one",
  "nobody-below": "nobody alive is less important",
  "preemption-off": "this tree allows no preemption",
  "would-deadlock": "whoever would have to give way waits for it",
  unpriced: "its model has no price, and there is a cost limit",
  unbounded: "a call of it cannot be bounded, and there is a limit",
  ended: "its boss had ended",
};

function noSlot(error: ErrorData | null): string {
  const limit = error?.["limit"];
  const denied = error?.["reason"];
  const full =
    typeof limit === "number" ? `all ${counted(limit, "slot")} of the tree were taken` : "no slot was free";
  return `${full}${typeof denied === "string" ? `, and ${denials[denied] ?? denied}` : ""}`;
}

const modelErrors: Readonly<Record<string, string>> = {
  "rate-limit": "the provider's rate limit was met, again and again",
  overloaded: "the provider is overloaded",
  "server-error": "the provider failed",
  timeout: "the provider did not answer in time",
  "context-overflow": "the conversation is longer than the model can read",
  auth: "the provider does not accept the key",
  "auth-permanent": "the provider does not accept the key",
  billing: "the provider's account has no money or quota left",
  "model-not-found": "the provider does not know the model",
  "content-blocked": "the provider refused the content",
  format: "the provider did not understand the request",
};

function failure(error: ErrorData | null): string {
  if (!error) return "an error that says nothing";
  switch (error.code) {
    case "model":
      return modelErrors[String(error["kind"])] ?? "its model call failed";
    case "key-destroyed":
      return "its key was destroyed, so nothing of it can be read";
    case "incompatible-version":
      return `it needs version ${clean(String(error["wanted"]))} of ${clean(String(error["agent"]))}, and there is ${clean(String(error["present"]))}`;
    case "replay-divergence":
      return `its code changed while it was under way (at ${clean(String(error["step"]))}): raise the agent's version`;
    case "unjournaled-await":
      return "its code awaits something outside ctx: wrap it in ctx.step()";
    case "too-large":
      return clean(error.message ?? "something was too large");
    default:
      return `an error in its code (${clean(error.code)})`;
  }
}

function landing({ status }: RunEnd): readonly string[] {
  return status === "landed" ? ["It landed: a last call without tools handed back what it had."] : [];
}

function words(error: ErrorData | null, said: string): readonly string[] {
  const message = error?.message === undefined ? "" : clean(error.message);
  return message === "" || said.includes(message) ? [] : [message];
}

function hintsOf(run: RunView, { stopReason }: RunEnd): readonly string[] {
  if (run.parentRunId !== null) return [];
  if (stopReason === "budget.cost") return ["reeve run ... --max-cost <more dollars>"];
  if (stopReason === "budget.tokens") return ["reeve run ... --max-tokens <more>"];
  return stopReason === "deadline" ? ["reeve run ... --deadline <more seconds>"] : [];
}
