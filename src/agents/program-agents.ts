import type { Agent, Hireable } from "#kernel";

/** Returns the agents among some values and, through their teams, every agent that those can spawn. Each one once. */
export function programAgents(values: Iterable<unknown>): readonly Agent[] {
  const found = new Set<Agent>();
  const add = (value: unknown): void => {
    if (!isAgent(value) || found.has(value)) return;
    found.add(value);
    for (const member of teamOf(value)) add(member);
  };
  for (const value of values) add(value);
  return [...found];
}

/** Returns the members of an agent's team and the workers of its architecture, without the terms they are spawned on. */
export function teamOf({ team = [], architecture }: Agent): readonly Hireable<unknown>[] {
  const members = team.map((entry) => ("agent" in entry ? entry.agent : entry));
  return [...members, ...Object.values(architecture?.declaredWorkers() ?? {})];
}

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
