import {
  AgentId,
  interceptedMoments,
  type Agent,
  type Approver,
  type ExtensionProblem,
  type Guardrail,
  type NamedInterceptions,
  type Permissions,
} from "#kernel";

/** One of a guardrail's methods. */
export type GuardHook = Exclude<keyof Guardrail, "name" | "timeoutS" | "models">;

const hooks = [
  "onTurnStart",
  "onInput",
  "beforeCall",
  "afterCall",
  "onOutput",
] as const satisfies GuardHook[];

/**
 * Configuration that a run keeps from its launch. It decides which operations the run makes and with which arguments.
 * So a replay must not depend on the configuration of the worker that executes it.
 */
export interface LaunchPolicy {
  /** The kind of approver that answers questions about tool calls. `none`: such calls are refused. */
  readonly approver: "code" | "human" | "none";
  readonly approvalExpiresS: number;
  readonly ruleOfTwo: "ask" | "off";
  /** The hooks that a guardrail of the runtime or of the agent has. Each of these checks is a step. */
  readonly guardrailHooks: readonly GuardHook[];
  /** Whether the agent has function middleware. If so, each call of a run tool ends with a step. */
  readonly functionLayers: boolean;
  /** Whether the agent has hooks. If so, the tree passes the run its events. */
  readonly hasHooks: boolean;
  /** Set if every tool call is allowed. Recorded when the run starts. */
  readonly allowsAll?: true;
  /**
   * The extensions that have handlers. The run calls no others, even if its worker has loaded more since. Absent: none.
   */
  readonly interceptors?: readonly string[];
  /** Set if one of them intercepts input. If so, each input of the run is a step. */
  readonly interceptsInput?: true;
  /** Parts of extensions that were left out. Recorded when the run starts. Absent: none. */
  readonly problems?: readonly ExtensionProblem[];
}

/** The options of a runtime that become part of launches. */
interface LaunchOptions extends Partial<Pick<LaunchPolicy, "approvalExpiresS" | "ruleOfTwo">> {
  readonly approver?: "human" | Approver;
  readonly guardrails?: readonly Guardrail[];
  readonly permissions?: Permissions | "allow-all";
}

/** Maximum number of problems that a launch names. */
const maxProblems = 20;

/** Whether an extension observes events. */
function watches({ on }: NamedInterceptions): boolean {
  return Object.keys(on).some((name) => !interceptedMoments.some((moment) => moment === name));
}

const defaultExpiresS = 7 * 24 * 60 * 60;

function approverKind(approver: LaunchOptions["approver"]): LaunchPolicy["approver"] {
  if (approver === undefined) return "none";
  return approver === "human" ? "human" : "code";
}

/** Returns a function that gives the launch policy of an agent by its type. */
export function createLaunchPolicies(
  agents: ReadonlyMap<string, Agent>,
  options: LaunchOptions,
): (agent: AgentId) => LaunchPolicy {
  const { guardrails = [], approvalExpiresS = defaultExpiresS, ruleOfTwo = "ask" } = options;
  const rest = { approver: approverKind(options.approver), approvalExpiresS, ruleOfTwo };
  const policyOf = (agent: Agent | undefined): LaunchPolicy => {
    const all = [...guardrails, ...(agent?.policy?.guardrails ?? [])];
    const guardrailHooks = hooks.filter((hook) => all.some((guardrail) => guardrail[hook] !== undefined));
    const functionLayers = (agent?.policy?.function ?? []).length > 0;
    const { interceptions = [], problems = [] } = agent?.policy ?? {};
    const hasHooks = agent?.policy?.hooks !== undefined || interceptions.some(watches);
    const permissions = agent?.policy?.permissions ?? options.permissions;
    const allowsAll = permissions === "allow-all" || permissions?.allowsAll === true;
    return {
      ...rest,
      guardrailHooks,
      functionLayers,
      hasHooks,
      ...(allowsAll && { allowsAll }),
      ...(interceptions.length > 0 && { interceptors: interceptions.map(({ extension }) => extension) }),
      ...(interceptions.some(({ on }) => on.input !== undefined) && { interceptsInput: true }),
      ...(problems.length > 0 && { problems: problems.slice(0, maxProblems) }),
    };
  };
  // The agents of a runtime change when it reloads their extensions.
  const known = new WeakMap<Agent, LaunchPolicy>();
  const other = policyOf(undefined);
  return (id) => {
    const agent = agents.get(AgentId.type(id));
    if (!agent) return other;
    const policy = known.get(agent) ?? policyOf(agent);
    known.set(agent, policy);
    return policy;
  };
}
