import type { Architecture, AgentSpec } from "#kernel";
import { storedText } from "#agents";
import type { Verdict } from "./actor-critic.ts";
import { noWorkerAnswered } from "./roles.ts";

/** The two roles, and when to stop. */
export interface ReflexionOptions {
  readonly actor: AgentSpec<string>;
  readonly evaluator: AgentSpec<Verdict>;
  /** Default 3. */
  readonly trials?: number | undefined;
  /** The score that is good enough. Default 0.8. */
  readonly threshold?: number | undefined;
}

/** Maximum characters of lessons stored per user. */
const maxLessons = 4_000;

/**
 * One worker tries, another one judges. From each failure the leader's model derives a lesson, and the next trial
 * receives all lessons. Lessons are stored per user, so the next task starts with them. The answer is the best trial.
 */
export function reflexion({ actor, evaluator, trials = 3, threshold = 0.8 }: ReflexionOptions): Architecture {
  const stored = storedText("lessons", "user", maxLessons);
  return {
    name: "reflexion",
    needsModel: true,
    privateTools: stored.tools,
    declaredWorkers: () => ({ actor, evaluator }),
    async *run(state, { ctx, delegate, think }, prompt) {
      let lessons = await stored.read(ctx);
      let best = -Infinity;
      for (let trial = 1; trial <= trials; trial += 1) {
        const made = await delegate(actor, lessons === "" ? prompt : `${prompt}\n\nLessons:\n${lessons}`);
        if (!made.ok && state.output === null) throw noWorkerAnswered([made]);
        if (!made.ok) break;
        state.output ??= made.text;
        const judged = await delegate(evaluator, `Task: ${prompt}\n\nAttempt:\n${made.text}`);
        const { score, feedback } = judged.ok ? judged.value : { score: -Infinity, feedback: judged.reason };
        if (score > best) {
          best = score;
          state.output = made.text;
        }
        yield { trial, score: judged.ok ? score : null };
        if (score >= threshold) return;
        const asked = `Task: ${prompt}\n\nAttempt:\n${made.text}\n\nJudgement: ${feedback}\n\nWrite one lesson from this, in one sentence.`;
        lessons = `${lessons}${lessons === "" ? "" : "\n"}- ${await think(asked)}`.slice(-maxLessons);
        await stored.write(ctx, lessons);
      }
      state.interrupted = true;
      state.interruptionReason = `no trial reached a score of ${threshold}`;
    },
  };
}
