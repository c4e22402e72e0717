import { AgentId, StrategyError, type Delivery, type AgentSpec } from "#kernel";

/** Returns the name of a worker. */
export const getAgentName = ({ id }: AgentSpec<unknown>): string => AgentId.type(id);

/** Returns workers by their names. */
export const byName = (
  workers: readonly AgentSpec<unknown>[],
): Readonly<Record<string, AgentSpec<unknown>>> =>
  Object.fromEntries(workers.map((worker) => [getAgentName(worker), worker]));

/** Describes workers to a model that has to choose one. */
export const describeWorkers = (workers: readonly AgentSpec<unknown>[]): string =>
  workers
    .map((worker) => `- ${getAgentName(worker)}${worker.description ? `: ${worker.description}` : ""}`)
    .join("\n");

/** Returns the deliveries that have an answer. */
export const filterAnswered = <Answer>(
  deliveries: readonly Delivery<Answer>[],
): readonly Extract<Delivery<Answer>, { readonly ok: true }>[] =>
  deliveries.filter((delivery) => delivery.ok);

/** Creates the error of an architecture whose workers gave no answer. It states each reason. */
export function noWorkerAnswered(deliveries: readonly Delivery<unknown>[]): StrategyError {
  const reasons = deliveries.flatMap((each) =>
    each.ok ? [] : [`${getAgentName(each.worker)}: ${each.reason}`],
  );
  return new StrategyError({ problem: `no worker answered: ${reasons.join("; ")}` });
}
