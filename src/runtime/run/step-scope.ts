import type { Model, StepIo, StepScope } from "#kernel";
import type { ModelCalls } from "./model-calls.ts";
import type { ModelHost } from "./model-host.ts";

/** What a layer can ask for inside a step. */
export function stepScope(
  host: ModelHost,
  io: StepIo,
  calls: ModelCalls,
  model: Model | undefined,
): StepScope {
  const { clock, agentVersion: version } = host;
  return {
    signal: io.signal,
    clock,
    tenantId: host.scope.tenantId,
    version,
    get retries() {
      return calls.retries;
    },
    llm: (messages, given = {}) => calls.make(known(given.model ?? model), messages, given),
    wait: (ms) => calls.wait(ms),
    again: (error, schedule) => calls.again(error, schedule),
  };
}

function known(model: Model | undefined): Model {
  if (!model) throw new TypeError("this agent has no model");
  return model;
}
