import type { Architecture, AgentSpec } from "#kernel";
import type { Verdict } from "./actor-critic.ts";
import { noWorkerAnswered } from "./roles.ts";

/** The two roles, and the size of the search. */
export interface TreeOfThoughtsOptions {
  readonly thinker: AgentSpec<string>;
  readonly evaluator: AgentSpec<Verdict>;
  /** Thoughts generated from each selected one. Default: 3. */
  readonly branches?: number | undefined;
  /** Thoughts selected at each level. Default: 2. */
  readonly beam?: number | undefined;
  /** Default 3. */
  readonly depth?: number | undefined;
  /** The score at which the search ends. Default 0.95. */
  readonly threshold?: number | undefined;
}

/** A line of thought from the first to the last, and its score. */
interface Line {
  readonly thoughts: readonly string[];
  readonly score: number;
}

/** Many first thoughts; the best few are thought further, level by level: a beam search. A level is one fan-out. */
export function treeOfThoughts(options: TreeOfThoughtsOptions): Architecture {
  const { thinker, evaluator, branches = 3, beam = 2, depth = 3, threshold = 0.95 } = options;
  return {
    name: "tree-of-thoughts",
    declaredWorkers: () => ({ thinker, evaluator }),
    async *run(state, { delegate }, prompt) {
      let kept: readonly Line[] = [{ thoughts: [], score: 0 }];
      for (let level = 1; level <= depth; level += 1) {
        const begun = kept.flatMap(({ thoughts }) =>
          Array.from({ length: branches }, (_, index) => ({ thoughts, option: index + 1 })),
        );
        const made = await Promise.all(
          begun.map(async ({ thoughts, option }) => {
            const soFar = thoughts.length === 0 ? "" : `\n\nSo far:\n${thoughts.join("\n")}`;
            const task = `${prompt}${soFar}\n\nThe next thought, option ${option} of ${branches}:`;
            return { thoughts, delivery: await delegate(thinker, task) };
          }),
        );
        const lines = made.flatMap(({ thoughts, delivery }) =>
          delivery.ok ? [[...thoughts, delivery.text]] : [],
        );
        if (lines.length === 0 && state.output === null)
          throw noWorkerAnswered(made.map(({ delivery }) => delivery));
        const scored = await Promise.all(
          lines.map(async (thoughts): Promise<Line> => {
            const judged = await delegate(evaluator, `Task: ${prompt}\n\n${thoughts.join("\n")}`);
            return { thoughts, score: judged.ok ? judged.value.score : -Infinity };
          }),
        );
        kept = scored.toSorted((one, other) => other.score - one.score).slice(0, beam);
        const [best] = kept;
        if (!best) break;
        state.output = best.thoughts.at(-1) ?? null;
        yield { level, thoughts: scored.length, score: Number.isFinite(best.score) ? best.score : null };
        if (best.score >= threshold) return;
      }
    },
  };
}
