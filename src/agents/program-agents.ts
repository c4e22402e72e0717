import type { Agent, AgentSpec } from "#kernel";

/**
 * Returns the agents among some values and, through their teams and handoffs, every agent that those can spawn. Each
 * one once.
 */
export function programAgents(values: Iterable<unknown>): readonly Agent[] {
  const found = new Set<Agent>();
  const add = (value: unknown): void => {
    if (!isAgent(value) || found.has(value)) return;
    found.add(value);
    for (const member of [...teamOf(value), ...handoffTargets(value)]) add(member);
  };
  for (const value of values) add(value);
  return [...found];
}

/** Returns the members of an agent's team and the workers of its architecture, without their spawn options. */
export function teamOf({ team = [], architecture }: Agent): readonly AgentSpec<unknown>[] {
  return [...team.map(agentOf), ...Object.values(architecture?.declaredWorkers() ?? {})];
}

/** Returns the handoff targets of an agent, without their options. */
export const handoffTargets = ({ handoffs = [] }: Pick<Agent, "handoffs">): readonly AgentSpec[] =>
  handoffs.map(agentOf);

const agentOf = (entry: AgentSpec | { readonly agent: AgentSpec }): AgentSpec =>
  "agent" in entry ? entry.agent : entry;

/** Whether a value has an agent's identity and entry point. */
export function isAgent(value: unknown): value is Agent {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    typeof value.id === "string" &&
    "run" in value &&
    typeof value.run === "function"
  );
}
