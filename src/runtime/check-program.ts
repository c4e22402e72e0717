import {
  AgentId,
  checkTerms,
  ProgramError,
  type Agent,
  type Guardrail,
  type AgentSpec,
  type Tool,
} from "#kernel";
import {
  handoffOf,
  handoffTargets,
  isAgent,
  isTeamTool,
  isToolName,
  missingModel,
  programAgents,
  teamOf,
  toolNameRule,
} from "#agents";
import { errorMessage } from "#base";
import { modelsIn, PriceList } from "#run";
import { ExtendedAgents, type RuntimeParts } from "./extended-agents.ts";

/** A program that was checked. */
interface Program {
  /** Every agent that can be started or spawned. */
  readonly agents: readonly Agent[];
  /** The same agents with the extensions of the runtime. */
  readonly extended: ExtendedAgents;
  readonly prices: PriceList;
}

/** The options of a program that apply to all its agents. */
interface ProgramOptions extends RuntimeParts {
  readonly guardrails?: readonly Guardrail[];
}

/**
 * Finds every agent of a program through the teams of the given ones, and checks them all: a program error must not
 * become a result. @throws ProgramError that lists every problem with its fix.
 */
export function checkProgram(given: readonly Agent[], options: ProgramOptions): Program {
  const { guardrails = [] } = options;
  const agents = programAgents(given);
  const byType = new Map<string, Agent>();
  for (const agent of agents) byType.set(AgentId.type(agent.id), byType.get(AgentId.type(agent.id)) ?? agent);
  const prices = new PriceList();
  const extended = new ExtendedAgents(byType, options);
  const problems = [
    ...given.flatMap((value, index) => (isAgent(value) ? [] : [notAnAgent(value, index)])),
    ...findRepeated(agents.map(({ id }) => AgentId.type(id))).map(
      (name) => `two agents are named ${name}: give one of them another name`,
    ),
    ...agents.flatMap((agent) => [...agentProblems(agent), ...teamProblems(agent, byType)]),
    ...priceProblems(prices, [...extended.byType.values()], guardrails),
  ];
  if (problems.length > 0) throw new ProgramError({ problems });
  return { agents, extended, prices };
}

/**
 * Checks the agent of a start. A run executes the program's code, so another agent of the same name would answer as the
 * known one. Other options, such as a budget, are allowed. @throws ProgramError
 */
export function checkStart(known: ExtendedAgents, given: Pick<Agent<unknown>, "id" | "run">): void {
  if (known.isKnown(given)) return;
  const problem = `another agent named ${AgentId.type(given.id)} is listed in createRuntime({ agents }): start that one, or rename this one and list it`;
  throw new ProgramError({ problems: [problem] });
}

const notAnAgent = (value: unknown, index: number): string =>
  `agents[${index}] is ${value === undefined ? "undefined" : "not an agent"}: pass what agent() returns, or an object with id and run()`;

function agentProblems(agent: Agent): readonly string[] {
  const name = AgentId.type(agent.id);
  const { model, budget, tools = [] } = agent;
  // The loop of agent() calls the agent's own model. Other code may call another one, or allow a call without a price.
  const hasLoop = "name" in agent && model !== missingModel;
  const isUnpriced = hasLoop && budget?.maxCostUsd !== undefined && model && !model.price;
  return [
    ...(model === missingModel && (!agent.architecture || agent.architecture.needsModel)
      ? [`agent ${name} has no model: give one, for example agent({ model: anthropic("claude-sonnet-4-5") })`]
      : []),
    ...(isUnpriced
      ? [
          `agent ${name} has a budget.maxCostUsd, and the price of its model ${model.id} is not known: state it with languageModel(model, { price: { input: <micro-dollars per million tokens>, output: <...> } })`,
        ]
      : []),
    ...termProblems(agent).map((problem) => `agent ${name}: ${problem}`),
    ...tools.flatMap((tool) => toolProblems(name, tool)),
    ...findRepeated(tools.map((tool) => tool.name)).map((tool) => repeatedTool(agent, tool)),
  ];
}

function termProblems({ priority, retention }: Agent): readonly string[] {
  try {
    checkTerms({ priority, retention });
    return [];
  } catch (error) {
    return [errorMessage(error)];
  }
}

function toolProblems(agent: string, tool: Tool): readonly string[] {
  const { name } = tool;
  const schema: unknown = Reflect.get(Object(tool.input), "~standard");
  return [
    ...(isToolName(name) ? [] : [badToolName(agent, tool)]),
    ...(schema === undefined
      ? [`tool ${name} of agent ${agent} has no input schema: give a Standard Schema, such as z.object({})`]
      : []),
    ...("run" in tool || "execute" in tool
      ? []
      : [`tool ${name} of agent ${agent} does nothing: give it execute() or run()`]),
  ];
}

function badToolName(agent: string, tool: Tool): string {
  const name = JSON.stringify(tool.name);
  return isTeamTool(tool)
    ? `agent ${agent} would call a member of its team by a tool named ${name}: rename that agent (${toolNameRule})`
    : `agent ${agent} has a tool named ${name}: give it another name (${toolNameRule})`;
}

function repeatedTool({ id, tools = [] }: Agent, name: string): string {
  const agent = AgentId.type(id);
  const same = tools.filter((tool) => tool.name === name);
  if (same.every(handoffOf)) {
    const to = name.replace(/^handoff_to_/, "");
    return `agent ${agent} has two handoffs to ${to}: list it once, or give one of them another name`;
  }
  const ofTeam = same.filter(isTeamTool);
  if (ofTeam.length === 0) return `agent ${agent} has two tools named ${name}: give one of them another name`;
  const member = name.replace(/^ask_/, "");
  return ofTeam.length === same.length
    ? `agent ${agent} has two team members named ${member}: list it once, or give one of them another name`
    : `agent ${agent} has a tool named ${name}, and its team member ${member} is called by a tool of that name: give the tool another name`;
}

/** Returns the problems of team members and handoff targets. One without code must be another agent's name. */
function teamProblems(agent: Agent, byType: ReadonlyMap<string, Agent>): readonly string[] {
  const isStranger = (spec: AgentSpec<unknown>): boolean =>
    !isAgent(spec) && !byType.has(AgentId.type(spec.id));
  const fix = "which has no run(): list the agent of that name in createRuntime({ agents })";
  const name = AgentId.type(agent.id);
  return [
    ...teamOf(agent)
      .filter(isStranger)
      .map(({ id }) => `agent ${name} has ${AgentId.type(id)} on its team, ${fix}`),
    ...handoffTargets(agent)
      .filter(isStranger)
      .map(({ id }) => `agent ${name} hands off to ${AgentId.type(id)}, ${fix}`),
  ];
}

function priceProblems(
  prices: PriceList,
  agents: readonly Agent[],
  guardrails: readonly Guardrail[],
): readonly string[] {
  const problems = modelsIn(agents, guardrails).flatMap((model) => {
    try {
      prices.add(model);
      return [];
    } catch (error) {
      return [errorMessage(error)];
    }
  });
  return [...new Set(problems)];
}

/** Adds the prices of models that extensions have added. @throws ProgramError */
export function addPrices(prices: PriceList, agents: readonly Agent[]): void {
  const problems = priceProblems(prices, agents, []);
  if (problems.length > 0) throw new ProgramError({ problems });
}

/** Returns the names that occur more than once, each once. */
function findRepeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
