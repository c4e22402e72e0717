import {
  checkTerms,
  ExecutionBudget,
  KeyLimits,
  Priority,
  SpawnBudget,
  type Agent,
  type StartLimits,
} from "#kernel";
import type { StartOptions } from "#runtime";
import { HttpError } from "./http-error.ts";
import type { Call } from "./route.ts";

/** The part of a start that a key can limit, and that the server has defaults for. */
type LimitedOptions = Pick<StartOptions, "budget" | "deadlineS" | "priority" | "spawn">;

const budgetFields = ["maxTokens", "maxCostUsd", "maxTurns", "deadlineS"] as const;

/** Checks limits that were configured. @throws RangeError, TypeError on limits that are none. */
export function checkLimits(limits: KeyLimits): void {
  const { budget, priority, maxAgents } = limits;
  ExecutionBudget.of(budget);
  SpawnBudget.of(maxAgents === undefined ? {} : { maxAgents });
  checkTerms({ priority });
  KeyLimits.checkSchedules(limits);
}

/**
 * Applies the server's defaults and the limits of the key to a start. A requested value above a limit is refused; a
 * missing value is set to the limit. @throws HttpError that states what is allowed.
 */
export function limitStart(
  { host, principal }: Pick<Call, "host" | "principal">,
  agent: Pick<Agent, "priority">,
  asked: LimitedOptions,
): LimitedOptions {
  const { defaults } = host;
  const limits = principal.limits ?? {};
  const budget: Record<string, number> = {};
  for (const field of budgetFields) {
    const own = field === "deadlineS" ? asked.deadlineS : undefined;
    const value = clampLimit(
      { name: `budget.${field}`, max: limits.budget?.[field], limits },
      own ?? asked.budget?.[field],
      defaults.budget?.[field],
    );
    if (value !== undefined) budget[field] = value;
  }
  const onLimit = asked.budget?.onLimit ?? defaults.budget?.onLimit;
  const maxAgents = clampLimit(
    { name: "spawn.maxAgents", max: limits.maxAgents, limits },
    asked.spawn?.maxAgents,
    defaults.maxAgents ?? SpawnBudget.of().maxAgents,
  );
  return {
    budget: ExecutionBudget.of({ ...budget, ...(onLimit !== undefined && { onLimit }) }),
    spawn: { ...asked.spawn, ...(maxAgents !== undefined && { maxAgents }) },
    priority: priorityOf(limits, asked.priority, agent.priority ?? defaults.priority ?? "normal"),
  };
}

interface Limit {
  readonly name: string;
  readonly max: number | undefined;
  /** All that the key allows. */
  readonly limits: StartLimits;
}

function clampLimit(limit: Limit, asked: number | undefined, preset: number | undefined): number | undefined {
  const { max = Infinity } = limit;
  if (asked !== undefined && asked > max) refuseStart(limit, max, asked);
  const value = asked ?? Math.min(preset ?? Infinity, max);
  return value === Infinity ? undefined : value;
}

function priorityOf(limits: StartLimits, asked: Priority | undefined, preset: Priority): Priority {
  const { priority: max } = limits;
  if (max === undefined) return asked ?? preset;
  const exceeds = (priority: Priority): boolean => Priority.weight(priority) > Priority.weight(max);
  if (asked !== undefined && exceeds(asked)) refuseStart({ name: "priority", limits }, max, asked);
  return asked ?? (exceeds(preset) ? max : preset);
}

function refuseStart(
  { name, limits }: Pick<Limit, "name" | "limits">,
  max: string | number,
  asked: string | number,
): never {
  const message = `${name} must be at most ${max} with this key, got ${asked}`;
  throw new HttpError("limit-exceeded", message, { allowed: limits });
}
