import { type Agent, AgentId, Labels, NotFoundError, type Tool } from "#kernel";
import { agentVersion, middlewareName } from "#runtime";
import { mayDo, type Principal } from "../auth.ts";
import { toJsonResponse, type Route, route, type ServerDeps } from "../route.ts";

export const agentRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/agents",
    scope: "read",
    forUsers: true,
    summary:
      "The agents that can be started: model, tools, team, limits and layers of each, and its instructions for keys with the scope content",
    handle: async ({ host, principal }) =>
      toJsonResponse({ items: host.runtime.agents.map((agent) => toRecord(agent, principal)) }),
  }),
];

/** Returns what an agent may do. Its instructions are content. */
function toRecord(agent: Agent, principal: Principal): object {
  const { id, description = null, model, tools = [], team = [], budget = null, retention = null } = agent;
  const { policy = {} } = agent;
  const layers = [...(policy.agent ?? []), ...(policy.chat ?? []), ...(policy.function ?? [])];
  return {
    name: AgentId.type(id),
    description,
    version: agentVersion(agent),
    model: model?.id ?? null,
    tools: tools.map(toolRecord),
    team: team.map((each) => AgentId.type("agent" in each ? each.agent.id : each.id)),
    budget,
    retention,
    guardrails: (policy.guardrails ?? []).map(({ name }) => name),
    middleware: [...new Set(layers)].map((layer) => middlewareName(layer) ?? "unnamed"),
    ...(mayDo(principal, "content") && { instructions: instructionsOf(agent) }),
  };
}

/** Returns the description of a tool with its defaults filled in. */
function toolRecord(tool: Tool): object {
  const { name, description, risk, origin = "tool", sensitivity = "public" } = tool;
  const trust = Labels.broughtBy(tool).untrusted ? "untrusted" : "trusted";
  return { name, description, risk, origin, trust, sensitivity, egress: Labels.leavesBy(tool) };
}

/** The text of its instructions; null: there is none, or it is computed for each turn. */
function instructionsOf(agent: Agent): string | null {
  return "instructions" in agent && typeof agent.instructions === "string" ? agent.instructions : null;
}

/** @throws NotFoundError */
export function agentOf({ runtime }: ServerDeps, name: string): Agent {
  const agent = runtime.agents.find(({ id }) => AgentId.type(id) === name);
  if (!agent) throw new NotFoundError({ what: "agent", id: name });
  return agent;
}
