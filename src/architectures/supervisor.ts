import type { Architecture, AgentSpec } from "#kernel";
import { teamTools, type TeamMember } from "#agents";
import { byName } from "./roles.ts";

/** The workers of a supervisor, each with terms of its own if needed. */
export interface SupervisorOptions {
  readonly workers: readonly (AgentSpec | TeamMember)[];
}

/**
 * The leader's model decides which workers to call, repeatedly and in parallel. It may forward an answer, which then is
 * the answer of the turn, verbatim and without a further model call.
 */
export function supervisor({ workers }: SupervisorOptions): Architecture {
  return lead("supervisor", workers);
}

/** The same as {@link supervisor}, for workers with terms of their own: priority, budget and timeout. */
export function orchestrator({ workers }: { readonly workers: readonly TeamMember[] }): Architecture {
  return lead("orchestrator", workers);
}

function lead(name: string, workers: SupervisorOptions["workers"]): Architecture {
  return {
    name,
    needsModel: true,
    declaredWorkers: () => byName(workers.map((worker) => ("agent" in worker ? worker.agent : worker))),
    tools: teamTools(workers, { mayForward: true }),
    async *run(state, { react }, prompt) {
      state.output = await react(prompt);
      yield { answered: true };
    },
  };
}
