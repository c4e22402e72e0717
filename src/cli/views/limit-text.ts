import type { BudgetDimension } from "#kernel";
import { count, counted, usd } from "../text/amounts.ts";
import type { Denial } from "../tree/run-view.ts";
import { denials } from "./asides.ts";
import type { Known } from "./known.ts";

/** Which limit was met, whose it is, and how far. */
export function limitText(known: Known, dimension: BudgetDimension): string {
  const { run } = known;
  const error = run.end?.error ?? null;
  if (error?.["reason"] === "unpriced" || error?.["reason"] === "unbounded") return denials[error["reason"]];
  const denial =
    run.denial?.dimension === dimension
      ? run.denial
      : run.warnings.findLast((w) => w.dimension === dimension);
  if (!denial) return `its ${dimension} budget does not allow another call`;
  const used = `${amount(denial, denial.used)} ${dimension === "cost" ? "was" : "were"} used or reserved`;
  const owner = ownerOf(known, denial);
  if (owner === "tenant") return `its tenant's limit is reached: ${used} here, and nothing more is lent`;
  const whose = owner === "tree" ? "the tree's" : run.parentRunId === null ? "its" : "its or its boss's";
  return `${whose} limit is ${amount(denial, denial.limit)}, ${used}, and the next call does not fit`;
}

/** Whose limit it was, as far as the amounts tell. */
function ownerOf({ ledger }: Known, { dimension, limit }: Denial): "tree" | "tenant" | "run" {
  if (!ledger || (dimension !== "cost" && dimension !== "tokens")) return "run";
  const { maxCost, maxTokens, lent } = ledger.tree;
  if (limit === (dimension === "cost" ? maxCost : maxTokens)) return "tree";
  return limit === lent?.[dimension] ? "tenant" : "run";
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

const flags = {
  "budget.cost": ["cost", "--max-cost <more dollars>", "maxCostUsd"],
  "budget.tokens": ["tokens", "--max-tokens <more>", "maxTokens"],
  "budget.turns": ["turns", "--max-turns <more>", "maxTurns"],
} as const;

/** Where more comes from: that depends on whose limit it was. */
export function moreFor(known: Known, stopReason: keyof typeof flags, again: string): string {
  const [dimension, flag, field] = flags[stopReason];
  const { run } = known;
  const reason = run.end?.error?.["reason"];
  if (reason === "unbounded") return `${again} # without limits, if that may be`;
  if (reason === "unpriced")
    return "languageModel(model, { price: { input: <micro-dollars per million>, output: <...> } })";
  const denial = run.denial?.dimension === dimension ? run.denial : null;
  const owner = denial && known.ledger ? ownerOf(known, denial) : "tree";
  if (owner === "tenant") return `createRuntime({ tenantBudget: () => ({ ${field}: <more> }) })`;
  return owner === "run" && dimension !== "turns"
    ? `agent({ budget: { ${field}: <more> } })`
    : `${again} ${flag}`;
}
