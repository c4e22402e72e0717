import { AgentId, type Agent, type Architecture, type AgentSpec } from "#kernel";
import { handoffTargets, isAgent, teamOf } from "./program-agents.ts";

/** A part of a program, with its children. */
export interface AgentGraph {
  readonly kind: "agent" | "flow" | "code";
  readonly name: string;
  /** The architecture that leads its workers. Absent: its model decides, or it has none. */
  readonly architecture?: string | undefined;
  /** Whether the part is already shown elsewhere, with its children. */
  readonly isRepeated?: true | undefined;
  /** Whether the enclosing agent hands the conversation over to it. Absent: it spawns it. */
  readonly isHandoff?: true | undefined;
  readonly parts: readonly AgentGraph[];
}

/**
 * Returns an agent as a tree: its team, the workers of its architecture, the steps of its flows and its handoff
 * targets.
 */
export function agentGraph(agent: Agent): AgentGraph {
  return drawAgent(agent, new Set());
}

function drawAgent(given: AgentSpec<unknown>, seen: Set<AgentSpec<unknown>>): AgentGraph {
  const name = AgentId.type(given.id);
  const architecture = isAgent(given) ? given.architecture : undefined;
  const head = { kind: "agent", name, ...(architecture && { architecture: architecture.name }) } as const;
  if (seen.has(given)) return { ...head, isRepeated: true, parts: [] };
  seen.add(given);
  if (!isAgent(given)) return { ...head, parts: [] };
  const steps = architecture?.steps ? architecture.steps.map((step) => drawStep(step, seen)) : null;
  const members = steps ? teamOf({ ...given, architecture: undefined }) : teamOf(given);
  const led = [...members.map((member) => drawAgent(member, seen)), ...(steps ?? [])];
  const next = handoffTargets(given).map((to): AgentGraph =>
    Object.assign(drawAgent(to, seen), { isHandoff: true }),
  );
  return { ...head, parts: [...led, ...next] };
}

function drawStep(
  step: NonNullable<Architecture["steps"]>[number],
  seen: Set<AgentSpec<unknown>>,
): AgentGraph {
  if (typeof step === "function") return { kind: "code", name: step.name || "code", parts: [] };
  if ("id" in step) return drawAgent(step, seen);
  const workers = Object.values(step.declaredWorkers());
  const parts = step.steps
    ? step.steps.map((each) => drawStep(each, seen))
    : workers.map((worker) => drawAgent(worker, seen));
  return { kind: "flow", name: step.name, parts };
}
