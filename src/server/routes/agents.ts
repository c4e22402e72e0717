import { type Agent, AgentId, NotFoundError } from "#kernel";
import { agentVersion } from "#runtime";
import { answer, type Route, route, type ServerHost } from "../route.ts";

export const agentRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/agents",
    scope: "read",
    forUsers: true,
    summary: "Everybody who can be hired",
    handle: async ({ host }) => {
      const items = host.runtime.agents.map((agent) => {
        const { id, description = null } = agent;
        const version = agentVersion(agent);
        return { name: AgentId.type(id), description, version };
      });
      return answer({ items });
    },
  }),
];

/** @throws NotFoundError */
export function agentOf({ runtime }: ServerHost, name: string): Agent {
  const agent = runtime.agents.find(({ id }) => AgentId.type(id) === name);
  if (!agent) throw new NotFoundError({ what: "agent", id: name });
  return agent;
}
