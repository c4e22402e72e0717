import type { Architecture, AgentSpec } from "#kernel";
import { createObjectSchema } from "#agents";
import { byName, describeWorkers, getAgentName, noWorkerAnswered } from "./roles.ts";

/** The routes of a router. */
export interface RouterOptions {
  readonly routes: readonly AgentSpec[];
  /** The worker for tasks without a matching route, or whose route failed. Default: none; the best match is used. */
  readonly fallback?: AgentSpec | undefined;
  /** The confidence, from 0 to 1, below which the fallback is asked. Default 0.5. */
  readonly minConfidence?: number | undefined;
}

/** One call of the leader's model selects the worker for the whole task. Its answer is returned verbatim. */
export function router({ routes, fallback, minConfidence = 0.5 }: RouterOptions): Architecture {
  const names = routes.map(getAgentName);
  const schema = createObjectSchema(
    { route: { type: "string", enum: names }, confidence: { type: "number", minimum: 0, maximum: 1 } },
    ({ route, confidence }) =>
      typeof route === "string" && names.includes(route) && typeof confidence === "number"
        ? { route, confidence }
        : `route must be one of ${names.join(", ")}, and confidence a number from 0 to 1`,
  );
  return {
    name: "router",
    needsModel: true,
    declaredWorkers: () => byName([...routes, ...(fallback ? [fallback] : [])]),
    async *run(state, { think, delegate }, prompt) {
      const asked = `Which worker should do this task?\n${describeWorkers(routes)}\n\nTask: ${prompt}`;
      const { route, confidence } = await think(asked, { schema });
      yield { route, confidence };
      const chosen = routes.find((worker) => getAgentName(worker) === route);
      const first = confidence >= minConfidence ? chosen : (fallback ?? chosen);
      const tried = [];
      for (const worker of new Set([first, fallback])) {
        if (!worker) continue;
        const made = await delegate(worker, prompt);
        if (made.ok) {
          state.output = made.value;
          return;
        }
        tried.push(made);
      }
      throw noWorkerAnswered(tried);
    },
  };
}
