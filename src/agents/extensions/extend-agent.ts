import type { Agent, AgentPolicy, Extension, Inbox, RunContext, Tool } from "#kernel";
import { takeApart, type GivenExtensions } from "./take-apart.ts";

/** Adds to the extensions of an agent: those of the runtime, and what some of them have loaded. */
export type Expand = (own: readonly Extension[]) => GivenExtensions;

/** The extensions of an agent as they are. */
export const unexpanded: Expand = (own) => ({ extensions: own, files: [], problems: [] });

/** The options of an agent that are extensions. */
interface OwnExtensions {
  readonly profile?: Extension | undefined;
  readonly extensions?: readonly Extension[] | undefined;
}

/** Returns the extensions of an agent in their order: its profile is the first. */
export function ownExtensions({ profile, extensions = [] }: OwnExtensions): readonly Extension[] {
  return profile ? [profile, ...extensions] : extensions;
}

/** An agent that was built, and the way to build it again with other extensions. */
interface Rebuild extends OwnExtensions {
  readonly tools: readonly Tool[];
  readonly build: (expand: Expand) => Agent;
}

/** By the policy of a built agent, which stays the same when a copy of it has other terms, such as a budget. */
const rebuilds = new WeakMap<AgentPolicy, Rebuild>();

/** Lets an agent be built again with other extensions. */
export function noteRebuild(
  { policy, tools = [] }: Pick<Agent<unknown>, "policy" | "tools">,
  { profile, extensions, build }: Omit<Rebuild, "tools">,
): void {
  if (policy) rebuilds.set(policy, { tools, profile, extensions, build });
}

/** Returns the extensions that an agent was built with. */
export function extensionsOf({ policy }: Agent): readonly Extension[] {
  return ownExtensions((policy && rebuilds.get(policy)) ?? {});
}

/** Returns an agent with more extensions than its own: the same identity and terms, other tools, layers and code. */
export function extendAgent(agent: Agent, expand: Expand): Agent {
  const rebuild = agent.policy && rebuilds.get(agent.policy);
  if (!rebuild || rebuild.tools !== agent.tools) return extendOwn(agent, expand);
  const built = rebuild.build(expand);
  const { tools, policy } = built;
  return Object.freeze({
    ...agent,
    tools,
    policy,
    run: (ctx: RunContext, inbox: Inbox) => built.run(ctx, inbox),
  });
}

/** Extends an agent that has code of its own: it calls the tools that it knows, and everything else holds for its calls. */
function extendOwn(agent: Agent, expand: Expand): Agent {
  const { policy = {} } = agent;
  const { agent: runs, chat, function: calls } = policy;
  const given = expand([]);
  const own = { ...policy, tools: agent.tools ?? [], middleware: { agent: runs, chat, function: calls } };
  const { tools, ...parts } = takeApart(given, own);
  const { middleware, hooks, guardrails, ephemeral, sections, onSaved, interceptions, problems } = parts;
  const extended: AgentPolicy = {
    ...policy,
    ...middleware,
    hooks,
    guardrails,
    ephemeral,
    onSaved: [...onSaved, ...(policy.onSaved ?? [])],
    interceptions,
    problems,
    ...((policy.sections || sections.length > 0) && { sections }),
  };
  return Object.freeze({ ...agent, tools, policy: extended });
}
