import type { Agent } from "#kernel";
import type { RuntimeOptions } from "#runtime";

/** The agents that a module exports, and whoever is on their teams. @throws TypeError if there are none. */
export function agentsIn(module: object, file: string): readonly Agent[] {
  const found = new Map<string, Agent>();
  for (const value of Object.values(module)) collect(value, found);
  if (found.size === 0) throw new TypeError(`${file} exports no agents: export const boss = agent({ ... })`);
  return [...found.values()];
}

function collect(value: unknown, found: Map<string, Agent>): void {
  if (!isAgent(value) || found.has(value.id)) return;
  found.set(value.id, value);
  const team: unknown = Reflect.get(value, "team");
  for (const member of Array.isArray(team) ? team : [])
    collect(Reflect.get(Object(member), "agent") ?? member, found);
}

function isAgent(value: unknown): value is Agent {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    typeof value.id === "string" &&
    "run" in value &&
    typeof value.run === "function"
  );
}

/** What a module says about the runtime: its export `runtime`, if there is one. */
export function optionsIn(module: object): Partial<Omit<RuntimeOptions, "agents" | "engine" | "store">> {
  const options: unknown = Reflect.get(module, "runtime");
  return typeof options === "object" && options !== null ? options : {};
}
