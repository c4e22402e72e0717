import { AgentId, type BudgetDimension, type LimitMet, Money, RunId } from "#kernel";
import { formatCount } from "./amounts.ts";
import { clean } from "./clean.ts";
import type { AgentView } from "../agent-view.ts";
import type { StoppedRun } from "./limit-text.ts";

const fields = {
  cost: ["--max-cost", "--cost", "maxCostUsd"],
  tokens: ["--max-tokens", "--tokens", "maxTokens"],
  turns: ["--max-turns", "--turns", "maxTurns"],
  agents: ["--max-agents", "", "maxAgents"],
} as const satisfies Readonly<Record<BudgetDimension, readonly [string, string, string]>>;

/** The command that starts a tree like that of a run again. */
export const startAgain = ({ agent }: AgentView): string => `reeve run ${AgentId.type(agent)} "..."`;

/** Commands, or lines of code, after which a call like the refused one can begin. */
export function remedies({ run, parent }: StoppedRun, dimension: BudgetDimension): readonly string[] {
  const denial = run.denial?.dimension === dimension ? run.denial : null;
  if (!denial) return [`${startAgain(run)} ${fields[dimension][0]} <more>`];
  const again = parent ? `reeve run <the root> "..."` : startAgain(run);
  switch (denial.reason) {
    case "unpriced":
      return ["languageModel(model, { price: { input: <micro-dollars per million>, output: <...> } })"];
    case "unbounded": {
      const remedy = run.end?.error?.["remedy"];
      return [
        typeof remedy === "string"
          ? clean(remedy)
          : "languageModel(model, { maxFileTokens: <max tokens of one file> })",
      ];
    }
    case "wait-timed-out":
      return denial.account === "tenant" || denial.account === "user"
        ? [`${again} # later: other trees return what they do not use`, higherLimit(denial, again)]
        : [`${again} --deadline <more seconds>`, smallerCalls];
    case "exceeded":
      return [higherLimit(denial, again)];
    case "exhausted":
      return dimension === "turns"
        ? [higherLimit(denial, again)]
        : [higherLimit(denial, again), smallerCalls];
  }
}

const smallerCalls = "agent({ maxOutputTokens: <less> }) # a call reserves its maximum output";

/** A start, an agent or a budget with a limit above that of a denial. */
function higherLimit({ account, owner, dimension, limit, used }: LimitMet, again: string): string {
  const [flag, , field] = fields[dimension];
  const atLeast = Math.max(limit, used);
  const more = `<more than ${dimension === "cost" ? Money.usd(atLeast) : formatCount(atLeast)}>`;
  switch (account) {
    case "tree":
      return `${again} ${flag} ${more}`;
    case "tenant":
      return `reeve budget set ${flag} ${more} --per <day, month or ever>`;
    case "user":
      return `reeve budget set --user <its user> ${flag} ${more} --per <day, month or ever>`;
    case "run":
    case "subtree": {
      const isRoot = owner !== null && owner === RunId.root(RunId.tree(owner));
      // The turns of a start are the root's.
      if (dimension === "turns" && isRoot) return `${again} ${flag} ${more}`;
      return `agent({ budget: { ${field}: ${more} } })`;
    }
  }
}

/** The command that gives a waiting call more. */
export function topUpCommand(
  { runId }: AgentView,
  { account, owner, dimension, limit, used }: LimitMet,
): string {
  if (account === "tenant" || account === "user")
    return higherLimit({ account, owner, dimension, limit, used, reserved: 0, inDoubt: 0 }, "");
  const [, flag] = fields[dimension];
  return `reeve top-up ${owner ?? RunId.tree(runId)} ${flag} <more>`;
}
