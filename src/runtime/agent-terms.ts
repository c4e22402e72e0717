import { hash } from "node:crypto";
import type { Agent, AgentId, HistoryRetention } from "#kernel";
import { agentVersion } from "#agents";
import {
  createLaunchPolicies,
  defaultBacklogs,
  protocolNumber,
  type AgentsRecord,
  type BacklogLimits,
  type LaunchPolicy,
} from "#tree";
import { defaultEraseAfterS } from "./execution-policy.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/**
 * Returns the name of a build. Builds with the same agent names and versions, over the same protocol, can continue each
 * other's runs.
 */
export function buildOf(agents: ReadonlyMap<string, Agent>): string {
  const versions = [...agents].map(([type, agent]) => `${type}@${agentVersion(agent)}`);
  return hash("sha256", [`protocol ${protocolNumber}`, ...versions.toSorted()].join("\n"));
}

/** Returns the default spawn options of each agent, by the agent's type. */
function termsOf(
  agents: ReadonlyMap<string, Agent>,
  defaultRetention: HistoryRetention = "run",
): AgentsRecord {
  const terms = [...agents].map(([type, agent]) => {
    const { priority = "normal", budget = null, retention = defaultRetention, maxRestarts } = agent;
    const own = { version: agentVersion(agent), priority, budget, retention, tools: null };
    return [type, { ...own, ...(maxRestarts !== undefined && { maxRestarts }) }] as const;
  });
  return Object.fromEntries(terms);
}

/** Whether a map still holds these agents, in this order. */
function isSame(of: readonly Agent[], agents: ReadonlyMap<string, Agent>): boolean {
  let index = 0;
  for (const agent of agents.values()) if (agent !== of[index++]) return false;
  return index === of.length;
}

/** Returns the limits unchanged. @throws RangeError unless each of them is an integer >= 1. */
function checkBacklogs(limits: BacklogLimits): BacklogLimits {
  for (const [name, limit] of Object.entries(limits))
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`backlogs.${name} must be an integer >= 1, got ${limit}`);
  return limits;
}

/** Returns the configuration that the trees of a runtime are executed with. */
export function treeHostOf(
  agents: ReadonlyMap<string, Agent>,
  options: RuntimeOptions & { readonly projects: boolean },
): {
  readonly agents: AgentsRecord;
  readonly policyOf: (agent: AgentId) => LaunchPolicy;
  readonly projects: boolean;
  readonly eraseAfterMs: number;
  readonly backlogs: BacklogLimits;
} {
  const { retention, projects, eraseAfterS = defaultEraseAfterS } = options;
  let known: { readonly of: readonly Agent[]; readonly terms: AgentsRecord } | null = null;
  return {
    // The agents change when their extensions are loaded.
    get agents() {
      if (!known || !isSame(known.of, agents))
        known = { of: [...agents.values()], terms: termsOf(agents, retention) };
      return known.terms;
    },
    policyOf: createLaunchPolicies(agents, options),
    projects,
    eraseAfterMs: eraseAfterS * 1000,
    backlogs: checkBacklogs({ ...defaultBacklogs, ...options.backlogs }),
  };
}
