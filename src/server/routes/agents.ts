import { type Agent, AgentId, NotFoundError } from "#kernel";
import { agentVersion } from "#runtime";
import { answer, type Route, route, type ServerHost } from "../route.ts";

export const agentRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/agents",
    scope: "read",
    forUsers: true,
    summary: "The agents that can be started: model, tools, team and limits of each",
    handle: async ({ host }) => answer({ items: host.runtime.agents.map(toRecord) }),
  }),
];

/** Returns what an agent may do. Its instructions are content, and not among it. */
function toRecord(agent: Agent): object {
  const { id, description = null, model, tools = [], team = [], budget = null, retention = null } = agent;
  return {
    name: AgentId.type(id),
    description,
    version: agentVersion(agent),
    model: model?.id ?? null,
    tools: tools.map((tool) => ({ name: tool.name, description: tool.description, risk: tool.risk })),
    team: team.map((each) => AgentId.type("agent" in each ? each.agent.id : each.id)),
    budget,
    retention,
    guardrails: (agent.policy?.guardrails ?? []).map(({ name }) => name),
  };
}

/** @throws NotFoundError */
export function agentOf({ runtime }: ServerHost, name: string): Agent {
  const agent = runtime.agents.find(({ id }) => AgentId.type(id) === name);
  if (!agent) throw new NotFoundError({ what: "agent", id: name });
  return agent;
}
