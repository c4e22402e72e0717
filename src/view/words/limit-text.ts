import type { BudgetDimension, LimitMet, StopReason } from "#kernel";
import { formatCounted, usd } from "./amounts.ts";
import type { Denial, AgentView } from "../agent-view.ts";

/** A run and its parent. */
export interface StoppedRun {
  readonly run: AgentView;
  readonly parent: AgentView | null;
}

const dimensions = { "budget.tokens": "tokens", "budget.cost": "cost", "budget.turns": "turns" } as const;

/** Returns the dimension whose limit ended a run. Null if none did. */
export function refusedDimension({ end, denial }: AgentView): BudgetDimension | null {
  if (!end) return null;
  const { stopReason } = end;
  if (stopReason === "deadline") return denial?.reason === "wait-timed-out" ? denial.dimension : null;
  return isRefusal(stopReason) ? dimensions[stopReason] : null;
}

const isRefusal = (reason: StopReason): reason is keyof typeof dimensions => reason in dimensions;

/** Describes which limit stopped a run, which run owns it, and how much of it is used. */
export function limitText({ run, parent }: StoppedRun, dimension: BudgetDimension): string {
  const denial = run.denial?.dimension === dimension ? run.denial : null;
  if (denial) return denialText(denial, parent);
  const warned = run.warnings.findLast((each) => each.dimension === dimension);
  if (!warned) return `its ${dimension} budget does not allow another call`;
  const { limit, used } = warned;
  return `its limit is ${amountOf(dimension, limit)}, ${usedText(dimension, used)}, and the next call does not fit`;
}

/** Describes why a call was refused. */
export function denialText(denial: Denial, parent: AgentView | null): string {
  const { reason, dimension, limit, used } = denial;
  const whose = ownerText(denial, parent);
  const most = amountOf(dimension, limit);
  switch (reason) {
    case "exhausted":
      return `${whose} limit is ${most}, ${usedText(dimension, used)}${partsText(denial)}, and the next call does not fit`;
    case "exceeded":
      return `a provider reported more than was reserved, so ${usedText(dimension, used)} of ${whose} limit of ${most}, and no further call may begin`;
    case "wait-timed-out":
      return waitText(denial, `${whose} limit of ${most}`);
    case "unpriced":
      return `its model has no price, and ${whose} limit is ${most}`;
    case "unbounded":
      return `the size of its call is not known, and ${whose} limit is ${most}`;
  }
}

function waitText({ account, dimension, reserved }: Denial, limit: string): string {
  const held = amountOf(dimension, reserved);
  if (account === "tenant" || account === "user")
    return `other trees hold ${held} of ${limit}, and did not return enough in time`;
  return reserved === 0
    ? `no top-up came in time, and ${limit} has no room for the call`
    : `calls in flight held ${held} of ${limit} until the end`;
}

function ownerText({ account, owner }: LimitMet, parent: AgentView | null): string {
  switch (account) {
    case "run":
      return "its own";
    case "subtree":
      return parent && parent.runId === owner ? `${parent.agent}'s` : `${owner ?? "a parent"}'s`;
    case "tree":
      return "the tree's";
    case "tenant":
      return "its tenant's";
    case "user":
      return "its user's";
  }
}

const usedText = (dimension: BudgetDimension, used: number): string =>
  `${amountOf(dimension, used)} ${dimension === "cost" || used === 1 ? "is" : "are"} used`;

/** The parts of the amount used that are not settled. */
function partsText({ dimension, reserved, inDoubt }: LimitMet): string {
  const parts = [
    ...(reserved > 0 ? [`${amountOf(dimension, reserved)} reserved`] : []),
    ...(inDoubt > 0 ? [`${amountOf(dimension, inDoubt)} in doubt`] : []),
  ];
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

/** An amount of a dimension, with its unit. */
export function amountOf(dimension: BudgetDimension, value: number): string {
  switch (dimension) {
    case "cost":
      return usd(value);
    case "tokens":
      return formatCounted(value, "token");
    case "turns":
      return formatCounted(value, "call");
    case "agents":
      return formatCounted(value, "agent");
  }
}
