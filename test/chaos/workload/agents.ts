import { agent, AgentId, type Agent, type Model } from "reeve";
import { preempter, joiner, ownAgents, type OwnAgent } from "./own-agents.ts";
import { toolsFor } from "./tools.ts";

/** Dependencies of the agents. Processes that only start trees need none. */
export interface AgentParts {
  readonly model: (name: string) => Model;
  /** Address of the sink of effects. */
  readonly sink: string;
}

const retry = { baseMs: 40 };

/** Returns all agents of a campaign. Each follows its task. */
export function agentsOf({ model, sink }: AgentParts): Readonly<Record<string, Agent>> {
  const tools = toolsFor(sink);
  const built = (name: string, rest: { team?: readonly Agent[]; continueAfter?: number } = {}): Agent =>
    agent({ name, model: model(name), tools, retry, ...rest });
  const writer = built("writer");
  const editor = built("editor", { team: [writer] });
  const lead = built("lead", { team: [editor, writer] });
  const continuer = built("continuer", { continueAfter: 2 });
  const own = (name: string, run: OwnAgent): Agent => ({
    id: AgentId.of(name),
    model: model(name),
    tools,
    policy: { retry },
    run: async (ctx, inbox) => run(ctx, (await inbox.next())?.text ?? ""),
  });
  const owns = Object.entries(ownAgents(sink)).map(([name, run]) => [name, own(name, run)] as const);
  const plain = Object.fromEntries(owns);
  const preempterAgent = own("preempter", preempter(plain));
  const joinerAgent = own("joiner", joiner(plain));
  return { writer, editor, lead, continuer, ...plain, preempter: preempterAgent, joiner: joinerAgent };
}
