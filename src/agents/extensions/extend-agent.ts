import type { Agent, AgentPolicy, Extension, Inbox, RunContext, Tool } from "#kernel";
import { takeApart, type GivenExtensions } from "./take-apart.ts";

/** Adds extensions to those of an agent: the runtime's, and loaded parts. */
export type Expand = (own: readonly Extension[]) => GivenExtensions;

/** Returns the extensions of an agent unchanged. */
export const keepUnexpanded: Expand = (own) => ({ extensions: own, files: [], problems: [] });

/** The options of an agent that are extensions. */
interface OwnExtensions {
  readonly profile?: Extension | undefined;
  readonly extensions?: readonly Extension[] | undefined;
}

/** Returns the extensions of an agent in order. Its profile is the first. */
export function ownExtensions({ profile, extensions = [] }: OwnExtensions): readonly Extension[] {
  return profile ? [profile, ...extensions] : extensions;
}

/** A built agent, with the function that builds it again with other extensions. */
interface Rebuild extends OwnExtensions {
  readonly tools: readonly Tool[];
  readonly build: (expand: Expand) => Agent;
}

/** By the policy of a built agent, which stays the same when a copy of it has other options, such as a budget. */
const rebuilds = new WeakMap<AgentPolicy, Rebuild>();

/** Registers the function that builds an agent again with other extensions. */
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

/** Returns an agent with more extensions: the same identity and options, other tools, layers and code. */
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

/** Extends an agent with custom code. Its code calls the tools that it knows; all other parts apply to its calls. */
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
