import { hash } from "node:crypto";
import type { Agent, HistoryRetention } from "#kernel";
import { agentVersion } from "#agents";
import { protocolNumber, type AgentsRecord } from "#tree";

/** Names a build: agents of the same names and versions, over the same protocol, can take over each other's runs. */
export function buildOf(agents: ReadonlyMap<string, Agent>): string {
  const versions = [...agents].map(([type, agent]) => `${type}@${agentVersion(agent)}`);
  return hash("sha256", [`protocol ${protocolNumber}`, ...versions.toSorted()].join("\n"));
}

/** Returns the terms on which each agent is spawned unless its parent says otherwise, by the agent's type. */
export function termsOf(
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
