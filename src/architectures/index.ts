export {
  StrategyError,
  type Architecture,
  type DelegateOptions,
  type Delivery,
  type InlineOptions,
  type StrategyDeps,
  type StrategyState,
  type ThinkOptions,
} from "#kernel";
export { actorCritic, type ActorCriticOptions, type Verdict } from "./actor-critic.ts";
export { blackboard, type BlackboardOptions } from "./blackboard.ts";
export { debate, type DebateOptions } from "./debate.ts";
export { planAndExecute, type PlanAndExecuteOptions } from "./plan-and-execute.ts";
export { reflexion, type ReflexionOptions } from "./reflexion.ts";
export { noWorkerAnswered } from "./roles.ts";
export { router, type RouterOptions } from "./router.ts";
export { orchestrator, supervisor, type SupervisorOptions } from "./supervisor.ts";
export { swarm, type SwarmOptions } from "./swarm.ts";
export { treeOfThoughts, type TreeOfThoughtsOptions } from "./tree-of-thoughts.ts";
