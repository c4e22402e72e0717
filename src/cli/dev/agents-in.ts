import { type Agent, ProgramError } from "#kernel";
import { isAgent, type RuntimeOptions } from "#runtime";

/** Returns the agents that a module exports. @throws ProgramError if there are none. */
export function agentsIn(module: object, file: string): readonly Agent[] {
  const agents = Object.values(module).filter(isAgent);
  const problem = `${file} exports no agents: export const lead = agent({ ... })`;
  if (agents.length === 0) throw new ProgramError({ problems: [problem] });
  return agents;
}

/** The task that the playground begins with: the export `example` of a module; null: none. */
export function exampleIn(module: object): string | null {
  const example: unknown = Reflect.get(module, "example");
  return typeof example === "string" ? example : null;
}

/** Returns the runtime options that a module exports as `runtime`, if any. */
export function optionsIn(module: object): Partial<Omit<RuntimeOptions, "agents" | "engine" | "store">> {
  const options: unknown = Reflect.get(module, "runtime");
  return typeof options === "object" && options !== null ? options : {};
}
